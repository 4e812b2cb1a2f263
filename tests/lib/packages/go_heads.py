"""The first kilobytes of programs that Go 1.26 built (`package main; func main() {}`, no cgo), by their platform."""

from base64 import b85decode
from zlib import decompress

_PACKED = {
    "linux_amd64": (
        "c-pIX^>JfjWMqH=CI&kOFt5`c%y)o_Pe3REiditQ0Z9P{ejv@jz=EXC0m_2W0Z@G~8mI{jSfIFqAHuKTcR-<2pvqx13zP;K!^(gR"
        "98l<q%h^$An0<^eGd4iQH@KtF8X{aMG_pRB9~mwPLIf@ZqR<P9q1K;fM$s4ev?PU%fq1~dKpg;bFFQCM(ZdxrJQ>i!6$XUR^xuK%"
        "zXR2;LO{PNa+ra`!vQ5+CQfI^8hbFH4b=~`9}!OweNIwLDC!l^^c$n;_c-MVr8&X0!B=*?;ckbfzhQqMl!nBA2AYS_?e{=;{}E_<"
        "IReqI!GK?X5L7=iOaPwVpy`hpRlNY3{seUWm!bMEL-bb=us;_~e*;v115|$i6Mp>_X!;*q4TRDV{Y|F$^*5v2&m9D%g&^tE0>A!F"
        "Xq>|IFK`Zm(h&U;O!(7JADaFHt|3rb1d?7u8S(0$ff+^60uW;VA}slJ6pVsVFbYP&C>RB!U=$300P02rLuvPX1_m#S%51a1!t~%u"
        "$L!oxvy^=Q@)G?-&r;J!-^?;Ece8@RRD+VFl&nI13*S(e%4}cf{0s|Um&8a*f5-fA{nBhVU9Zxhbf5ULuyl*?q@ui%6tLMM(Dtai"
        "Unm2^I+c=r<r!9+1bU>S?k2}9{kcgC06INtDg"
    ),
    "linux_386": (
        "c-pIX^>JflWMqH=CI)5(Fi(ny!vsiufr^_jC@`=wXfOyc@B?WOABY=RI6(LSkPX5tAcX=Dx`H2w`&l?ZI0eX0fy#q0+%}+I5LVpC"
        "&H%!!Q2k)}1MCb84m=znd}I>`0|>Jq%QpZS45Az$+z<+6b})h61(FYZT9U$m1+c-~NF)H+!wwD;s9*RY{(u3PSwcwa?f})@0jg8M"
        "qD~cRCfJ=5fPM$MRdFFZT%7=v)`qGBnFkI7U|1w|BjQK_N*g1oD>%)|QQ*zVa7_u*JUb+H3GYNW67mEX0+0d%W}XL<x(%O1I5rds"
        "Fo+=e17=<jR2?&z2aE$yTrgv*OF&k~3{=-Fz!1WKX>Tr)x&)xQ1fV(%Moe`TNa_}_h;l4w5nymK!Bp3bY_BEI-kkyrSu&XFI)Ru2"
        "s;(gvn2xRrFibdtsjd%6or07Yhr%pDh6lNr@iBt|B^VeO9tbcjLQ7AhU=)mkQ7{Td!6+C7qhJ(_f{_P6-LGIM?ViuT5Lw_IW|mRz"
        "Sm5vHU6SbHV&vzRt6yGjY;I&2nCY5RQs`fr990~cQlwvC=xc6L<zMRKli}s+lvSErRhF)A6zE~;nHgx5Y+UGAX&jnp;2Y)&Hd_SR"
        "Cvo=+We`^NWS!wKaRc+6qX!Z#U3Z`S&hQNYA4g*D"
    ),
    "linux_arm64": (
        "c-pIX^>JfjWMqH=CWh?{Al?KG4lv&VDn0?B1Sn>~zy>4*82EuS0|N_^ItK<u6gmK^F95C|!eD{o3Vw)a1wSJSodQ)2qgjx2voat9"
        "MijcljU9!Ci8I2@;DCyAqR=ZUQE6m-Y+#lUR9qN^PAG=(8jM&_^aVaGNnv9k9&j*F2Y_s62gf6NxT1z916sJkfDoGgJ5c?1p!!t^"
        "=vPGvGawLv#*YAmDlub6Q7?d|UmL2Q2`<8k5<-U_Goq+hK+|uGrvJoaE+`E#M}Hza-f*`=x4#q`@1=rZDg({K==OV{>2IhMg3=KE"
        "8VvaL2SN2S!$pLVVg^M5YxpIg>t}}QXNKsnAYgwkn*Ii;{syT204DtUE70^mU=@ba5dBG}`1LoV=})kR<}+)E{!ixk^>;$!6t2G*"
        "mQNx2B{G=s>hD9--*8(LN{c`Q!ttlS8JJOo5|4|p<kwL!3P!;w7zLwX6pVsVF#G|i8xahp-SZh3a?&ERA{~Q6J@d^fGTpOWbxlIU"
        "^j$0ivVz^BqKu2p3xfiR%<`*}Q}vBXA_IzxeS=+#-3z_k3<E5^A}aKg!re11GtGlSLtWjXoRd7`4g7P#W{W`Eqwap844c~-1vCrz"
        "?#Z9Ox%K<0+Mcbm*1rV+<PTa;"
    ),
    "linux_mips": (
        "c-rlk&ubGw6vw}_8QT~uZp{kbjG|B~C2bRkiic!vejGMUC2i9btWis$v9Yn$7=qxj^d@@oQYc<Lc=00M1i_<!f?yANES?1MQs2%_"
        "cDFJIPd&{SzVnuy4{zSS*@c~Fd8fb(244oEG&00~UZ<F*OKS!ur>g`8F@n<=ruze8j!6T1(i~nY4xH+ONdwE$T-u|Ubj)&ufn)y6"
        "2^xo_qrK0<L4F2{#xv4b$ik>+MO`$%{OHF`sO8qp+dzcsYfx>TfwR(XZBhKc808ujT@!iyTz&O(ndCvqbwzKye)Pp<JRjn|5=X{G"
        "1(%kcqvtif^fB%zxNDL#L?7LrvTY;8C1kXH?&P+KA@acfr4VPzSoS%q(?FaIKBdT43%K4p#K{ml_HVvBl8cCa6hs6HZav^=-V)5L"
        "V%?`9u0b5t$3_&~R>1LHSY)Ja1@|K0uF|?>oEueeujF16NAIFV#_Q(_ZYSXW?7<?lrG|ogvwm>!%fB1%WJA4x|NQ_T4mC`C3;3kq"
        "w6wIew6wIew6wI2L<z>2@;}@?qgCBlq|?pJ{MvkTHMRJ#RH@F@rtaOZk5439z4q<SO1fQct!+N(rYe=`*_Gto(xPqWHZo&&#;J~t"
        "*H+sLH<I~{$zraYNj)xYHk*ZNZnAZy&|kwnRYi)^bFd%$-v9os{{F({tuJrwm&cv_$6J2^kJ4Wy"
    ),
    "freebsd_arm64": (
        "c-pIX^>JfjWaMOk0w#v-42(cp;3+$p?*J7)!N>py4h$9y>_AeGL4bh`$Y()P=fJ>-LU%y*b-?vQ7%Wh{gC8QggP#$F_JFE}(JV+b"
        "2pd5489>#;=oF~B6f}JxSyl#Qz=%RW`NxJr!^9ckX0SuWIZ)^Y7Mv(FvOb7Of>3cG6uKb~!h0dgjG`~_X-Ntj1Mz@^fjWQ@>O&?5"
        "^l(KDPX@GbWkB*3vi>Ph{ZpX&RS4);MbnQ+52)z?mwtVeFb5@IX#5I5s3-4GLsbAxzbRBd6Gq5F;(gIQMili5X!>o@^sl(b38f+C"
        "1c$QYjW-W;`%R$f#suQh3^Wg;+aH9czrjKfN(*3BkIs*Q>SsoYQKa<C%z!uive5N2L-jL5^j8qDzZ^|}15|$lRDS>ye*H~o`X8_g"
        "L1~D7B~$$Rd(reOSPMaEi2fjB{Q4(D;}q`xJXk)5=--jfgjfFzH2n_OM4+@VBpun~w|^046rsf98Z7yJ6pVsVFbYP&C>RB!U=$Dr"
        "pk{b5ly=W&U?|Rs2nj9CDM~Ce%(2J`_3$%@2-G(Wck~QMDl@DIH%itu$aD`Xj)>6D&@GHNiZ61CGV$@$EijEtaVhuI&oS}O%M3Tl"
        "HOmhv$#nF0i8rZ?2b(PdZO^&;g)-bwR&|m*EuZ3F6K5=^aPWzR@xE3Ls2f1-IJctIRHtAU28(DR2ADV#k~plt0qZ*>ivs{^@nnh"
    ),
    "openbsd_amd64": (
        "c-rlj&rcIU6vt<`)fOdbH;~v1rZFB2i55cSM?|yMLNS5TvQSnMW3{b@AC`qeEGPO0NMbw@Ped;sJaF>r#+Z23gp+z8df|c>J#jF$"
        "%y;O{vur&WPkqVu+u6L&&YPL{-tPL)=&-6Ntqi8JYfP!AJrF+}>$q>J?8tQ1&rVf-&$147vNHBM{B-;i+67K13v%&*+Yj*Zen6MB"
        "4emk}s2A4`xE=Tl4Z$zu@ON^f;6~vuGzY&N;i~hVU{2E|?MnM373)*PGcvfJiA%b*+ajrxtL`aFYWzkrC8=%k;mEcsaVog7!MU=L"
        "k~D}76zaz+e2%rcnV;z1=NEZ}{eROCgU9P0=W*jRShGmSS{}&f&qy8!yFmDD@Y~?eH{h=jzLvjo-X6z~BS!>Zs~fpq7^xd!)6N__"
        "ObA`dBQ55uo9)6{2_K$}Lpc{zW&a@2+a&&4U2s0yE<Yel=Fby;WaTE5*HOzGpX>RHx)i+GlY(k><Mxw&;%mfvYP_!wZ;|-TUhutI"
        "-F&9!w@&yB_zd_c@u&Ou82wD}Hh3HS%VX9r^6)8^DEM+8`b;0^Gm3ls&nnkx2fy2&f^t5D{R@Dl`}dsY&mj8aAm?*l_w~Obd|5~Q"
        "x>nbpj$ecKh#N=!Sw4T7N5bAw9{ri2Z<iX({}Ht(_*$RWr2ZZt=O^O$MCRX`OhK{#ihJMxMtFM)`7_1&r0O33cftovyq`?%uiiU9"
        "2p<L?27m6d`~1HMpV>hDY;b;}$DQ{oc>jp?+gQKN`Ax;Wf3*-k^VWd!&b@clef~D(j}+tffzRL3p#GZHw5Bz!Y5(4;pB@G@zF7HI"
        "H3~DaY`U;EWR1mVqXVT_Y&Ft7kuI)eA1&XS=^mP1x<9je=WZ^Nw1yM?^TQL%*@BfGvx<ukFGeHXH|C9)S$Z&kJ(Ww8=H}Aoq<Q%4"
        "cDz60i7EDFGx21pGdT9MbLs0r&>wq$5L)vihHCF0xAKLk5#s?yR*TD#h1q-gQa&45$XzNfvfobgnb!"
    ),
    "netbsd_386": (
        "c-pIX^>JflWMpE10wxA#21X!#U^X|036TB*6*pl}U|?g=U=U;w0MZ~n5I3-Jfbap3dLU*2DHMRvFZhADpM?X2C4hVhs5}fO0Ob>a"
        "av+=n<fkCXF~S@JG#i8k4cHk#m=$V1Sl)phXel=b2qz?QFn}-%vit_11qLD<Ap9VRf#FXfBiP*_d13*`9CmP+K;6m@aVHG0KxrW)"
        "bw_~ejsVrEU{R-vqz)W5{E%=#S7!mW8|>Z*z%T&1Sx|u;t`6n}JE%Hv<blEh7$!|^@X!Os7zDT>sq1j#<>)xZ!H{~L4X%y@N(UmF"
        "CkG6>dHf6kEDRXtMI)&TP!iz?Sj3MKtT1*eR2?&j1Bwe!oG@dmD@Iml3{<z7pCN<+)7}OobqPRq2|#rkjF{@Wk<=|P5#d;{g`eS("
        "F{Zj{$m%kH>VOfVC55SO4m6BF>K-%!(-V^b!-ON4>J}oYYj79kXgDswP!olzZZ!i+FaQHWfMF|Ix*G+fU=)mkQ7{Td!6+C7qhJ&a"
        "Jpk%H1w(1~d<KT};GzsylNA4C;~ckAf9LEZpOj2}4|885_hhf|3_laU0{@^a^Zasu{Rn4Yk21HsG_$H)S6}C%y!enPKm9bn!qN;E"
        "kE|lMQZGYe%RmcPvof&RBG5jCyI&|n|M44gYLD(5)wM5?$-nweaWOk9FFR7-+Ap=lDcA+bP~WKu043^db^"
    ),
    "dragonfly_amd64": (
        "c-pIX^>JfjWMqH=CI&kO5buDoJDBeP6^}qD0g72LumVW|27U%MAfE+Eodc8wqa~pFU^Gw@7_dNb1wVve!S8@Vr$Cj%Xcj09GKQ4_"
        "891QOg?{WPG|WCmm>B_3@c?%e`oU376dG9{$d3#Pf)D|PKoq(m55m=0$AqGfQUJ1-9ULF%;e#433~1p4143x}??Cn6f$CQwpkEc)"
        "?_hs9p!l!QjvZ?(z<@SXKg@nacti9Z5@teCuYjiC7)}3)WKSp!iJ$VdsP=Q9>9<4E?;scmr6KW{f#zX!`#sR~9}o?M(t=pkqw|BH"
        "`kCPhVCe>$j+jx^qbHjLbp6Uu{mKyi6$I?hMbqB^)!zWsAHalPe+8QU2daTk8lqpx6u<svH2n(EflwNvKgbxr{!VC|!rk8ob$=g3"
        "{|-j{>8B4(zr%!JC@l=8U)bWee+Fh0LBIrv{fn^V*HJJEM!_f;1*2dTjDk@x3UC2X_ahieyXP}7gt`Zm=A@W78<iF478+Rk76utu"
        ">bnJ4rdQ_2`zKolI9H`RWdx^11nb8aCVRRWCZ-1z1iPDBW)z!7ng!?^_=i>*mH2q1IaWpa2N)!#dsOCv%@%>SW8M8i8IFf^1&X}n"
        "cz(<El&H$??_W-T6A=Xf{(E0n"
    ),
    "solaris_amd64": (
        "c-rljO=uHQ5XWCOF&`*x)(;e_P(;K_x+b<ZrPZvl>5?{;Y?In5LRY)RmR1(A;8wxrBzUN2kLpPf#FMu|52fU$$0~w?2a8bXMG!sI"
        "q;Dp>Z%nqHJV*x8f8S$%`{vD?H@l0O+<@fsF*J#tXVsC~tL=<cm`_SIm&#m{MJj)fv7;<l83$Z`D*T7~10IdaqFnsIZMO39W~(ab"
        "0dPk}JODovI1~J93Vx=`ANf7ZZK|M8FNXxhIDPmG1Lh4)(9+k4pl+_38<v;(L|zxPG|z`G-bex`0aq$;u2j$kttA3948xFXuU-}="
        "`fGdJ3bKE1GQ{8yc*ogjd>HnOW$Dy`c>avk0op0Tmw_(>e_|KD7mfgVr+&q{Wu$)5F1l-E=loTn4&wcxy48xdkML>{?rV{Ah9vq&"
        "iDpUsPF-_eY7-yOPS)26AHJUj<@aD_IpleMc(0JRlRBs@__Y%L2&wl*yzO`RU>*J%iGQnC2bJsABR#)an!i4{pM9JkA^tRfHuNLp"
        "4d4yn%MJFAb@%{!DDvt#9hCDgectguto-)6<4-~SDbBA${#t;g`Fl+E|2eILa(+JGz5geKH#FG4CfD_+<LAKpaiZ2=W#<J`r~c7i"
        "Qy%*(^j&+G^_QWpkazmDEF`>zoFB%qM%FJCfiH4i^?CR0w}f9A)j>I*m%QWuK=|mm4l4iEd*c(~+ktNf{&<)7`rim|EW!CNaejZd"
        "H@}7N56s^x<Zo4m?-lR<^_}o5YXwl=xi?bY>u>*AV%*;G^&`97zos><X-#X||8Lb#p#rF8Rle;<$4<}QjZLQYo-TVK5$hSr+RB-s"
        ">A{6Tb2x5idv52<{LsYMkW!fH&h&TRn@=QlJ2@~pWu@mXDA`PYP#aGSPxW6Jh{dLp#hW7&JI_7{?<DQgD0|=b=+I*6*;Q-(XXh6y"
        "^XlZsT!bleGdGm$x6HGh%ADD8$Lff)-(9bg?f"
    ),
    "darwin_arm64": (
        "c-lMv>+L@t1_nk3AYcMwJ|IqDXJBAqPyh)rNCL435XZ*{IJ&z=xd!<&U;su2!T@AW2P4Rw5Z8zhEczYzQ3auVpi>xF89?rVfcW^5"
        ")QS>>G7R$sAm)Af%?9VQAe+m=(16U1k1wvwP0G)SFD@xfGQ?sY4?EbrAB+e-E0Qz^)I2u0c}4jti6x0R-Ny$pZ&4?L&x$A9;^Wiv"
        "3zBp4N)nT>nzv#)#JnZB>~KCaQSsp77~&Z3?C%#G0t;`DISz4*DB%y|Gea>8BuKIN6Nh;b2=fT}vjl~YYM#Rk0kC-iFynxHCM5Ns"
        "@Yh1oUs73+nv<EAjorKjGa=?xKobXukKcWnz$n0Np29qcc?wYVAU-RBc&K24nS&&80AfyuC^MW7HZP9>B_7z3!Yw|jG&3h9GcPS4"
        "w|VeH0pug+2LQ0QW)A"
    ),
    "windows_amd64": (
        "c-r%gn!v!!z`(!)#Q*;@Fmy9OfCB?z&;Z1I^1JvLws4+R+`;H`Rxu<avsj^^C_lX@F;^iuF)uH_L?J0vp{O)ZAu~_G#XndfH$Np+"
        "kC&HA1!_isD+5DH8wZ5rB?P8EFeou_GXY)I#m>Nx2em5{$QFP&jS)nG*h~xzYz&MHAU+$I1j&knIAFlckkH7$pa9_rz+5eW#z$cS"
        "Ef-@@V@2XG5MyAlL{=cq5TVFGGH94A$WXwDTVAguwW0(_3wA>N3GzD|sv4kA67-5v5=#<+jAxucw*l3>0MZlKQPctB&Or~Nj9~>k"
        "&@&SRA>mjdh_3E{UIA30CDgB0K>C>=rg;?*brV1W55&M>&!8ZLsV)<u4jhKSumt--NeI*4qST!HWCmzh0^>{xNNHfGbJ8oW%q>Yw"
        "0;f*~196DGUP9=>=fp4y$N~VNU`B}"
    ),
}

HEADS = {platform: decompress(b85decode(packed)) for platform, packed in _PACKED.items()}
