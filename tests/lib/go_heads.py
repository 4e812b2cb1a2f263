"""The first kilobytes of programs that Go 1.26 built (`package main; func main() {}`, no cgo), by their platform."""

from base64 import b85decode
from zlib import decompress

_PACKED = {
    "linux_amd64": (
        "c-pIX^>JfjWMqH=CI&kOFt5`c%y)o_M<A2{#Vi<Dfg~RTF9REp&w`}R0m_2W5>S0Gnn3_Ufw-&;$iM-Gp17PHg+|r~vX5Z{RD6Rw"
        "3auf+g+e3i1G$yqf*?fTLLdsgpcrcXX=W6Cflo_P*cgZh91PR}jL2>VyT<{=T@$CXV+}nRV2A2wf(gLG38K$QiU~!%0-An)H2of@"
        "JfSovm^S#zj@RE(X!;xW2SRB`_-C*%;I&@`-Tg<P@pS~EUxNX^em$suW|#mxzM=8YjH+G$O}`Dg{>xDPmm&Hq2-xq5roREIzX7U0"
        "fC<0;5H$S{t_DJBi2f#1{QBe3?dJ}H(n4Tb$O6CqRA`*S^e=D@g3=KE5={8hPZpZ~1Fj)ZS_G0_LmBbvFTso=2nc}KUxy{XjDk@x"
        "3P!;w7zLwX6pVsVFbePk0NIc@pa"
    ),
    "linux_386": (
        "c-rleKT88a5XIm9Np6KiSGZUl78kKdWp#~UA%cQvp^(%bqD?>vl3EY65NuLgo!=nZ*;%BsRqHgi7JdR}j=i{XE$rO~kKMWX-OMn1"
        "vAMhDI1Wm=@K8iiO(b-@sP744RM5gK>ZlemIr9ZOr#stcPy&-`lw&vV1F$Q4{wV;~Yl1y`5MWRJpV0*k!Ol8#y>^SfoZo-%AK@2O"
        "%NhPCN4cmwpjoMQ^Dda=r8)z}xg7A!H2dMr_s(K<&S_llxh{G;Gk9Av>qQ!ueuN@DmDtk;FY7I9-0(9L!!wCco4>5LqByUJXlJ}T"
        "&*av0&Li$pq7Ad}w#KEzrNp%ylWS{S?l(k!C9#p1+=1SAmHIwPbQewTm@E{Rb?Dt+B?cpt>uOvaEr|Gb9^(`9J^Gkh12C32|MC7-"
        "R#sM4R#sM4R#sO3MPCr_F_i"
    ),
    "linux_arm64": (
        "c-pIX^>JfjWMqH=CWh?{Al?KG4lv&VDjtDQ0u-}gU<HzV47?0%Kt2nSItK<u6j}nRPXex=5l*r)AOl7ey2Ongg+|uL0%mbQ#W_*v"
        "6_uzovOYF2O9(11j6x?ALwF5FEGYT{pO&PsF%S<p7^njnQQQm!0?_agfKVl7>?rC5(DbuI^)tamI8j`9=rJRTdIdE7{Al`5Jm!MZ"
        "5Oee=vg7r)6uSMT&~Psm1XCF-40!EVLDSz*DFme<`ZXBv>(_(oXNHTw;v4D?W(K_BXM?Vv8LFQdqQ8QG{hnz08=(3dp!x%t@aqpj"
        ")Bk`~7)nF*Cz;~cACIO#!5W&*ts(k9nd8@=3XM~^{$f}@f#{dWV8W|E3r&B+ZBZyK0uczupZ-cPqX;D)>#*dPQ7{Td!6+C7qhJ(_"
        "f>AIEMge{R0FB})h5"
    ),
    "linux_mips": (
        "c-rlkF-yZh6vzLUoT0=@13kq_vk0}TT?B<7>S6{3hq_2WXLTqAyEr&?6PyL{6ZjDv{2(rZi@50GQeUpGxl?a&al1eK?<Kik-n)Cb"
        "B^O)ywg?0&1*p*|5WlTa?2zAgkx05q5ut?y4SE*oIl%@V*b?JZW-J}6TpO6GW~OPZvulG#ZTo#i<18E948cLB>(cyj?|BbymFtpc"
        "KnOHmAlSe>Tb9-EcL~bX)?Lwgs$3IIawWV|T3<50jb(0elH(k6f!=r712GINF6FpTaWlgNb#nB&WN`_{<%(1N0!=dHrX$~q;Rg3;"
        "lA$~NGv7LMq3*jTLO8e`!_mCb%)X;;*WwD|XnmsP;EoI@Z=uNOY&f_R!>v+XG8WqouE*boI66CujJqobcW$`PCn&NwEF9eB>1gy("
        "J#F?gs~6_H1J~agrq3>J9GsVzmzS59mzS59m)Ack6+-;}|M&vLpfeQ"
    ),
    "freebsd_arm64": (
        "c-rlkze~eV5XbMmq(6dS)2M@65oZ@G1RM;a#lfLkoCGI}x>S%3PMXotKS7-Q56oZEu{gBg<ewm>-X*-dhUlQ%`$GHeyWHo!+`Sh_"
        "@AnToS}6}m8eT!A?oVsq<A~yq3UWmdLN)zvz+&nEu8|jkV%{aLoAda?rBBkpXwp#34=6ix*Ptt4N->{&R+(pUmCsS5c%AuE=rK1r"
        "oT*9ifO$N?(ff+SxTERtyb8Zp9sWj&D%2qR%KHhTubCED&9j3*{q@l%AG|7G@J-_NTxHnz=doh>Ey1q}{$=cu<2=2ST4~?b<@#;f"
        "w>IACr6^dgzajWIY?Awh`Enc*@8prd=nT71*uReC9pWA2Z+}?7C-|87nE0+P=g$QHRtd<FU)w6@uLR%P4#<%|-Yn;@X;1U}A7sxN"
        "^2voR<%fcgM$6<&c#d|;*T0+JBDRkY1<#w6m6es1m6es1)qkr_|J`QqpPie2f48>>;c1Y^wGlV-T@n8R?g2Q-"
    ),
    "openbsd_amd64": (
        "c-rljF=!J}7{}kcq$a`E-l1SXhu|t0A=su+%QaL}p<vFm5^y=RfeNJ-YfC51*rkh8$AF8A;N;rF(M5+&x?~Z$6j$9$`~AP(z0c&;"
        "NgVDEmw(>n`{jM_z3;x{)t!aAj@F|Ja@35{eUGN<Cu1M?tByLAud1rhf4!=%sB`^sHWBCJ9s5tM3|B5$2Hep&jgQ8C!!IJ7o$)NL"
        "18@h3XD=eIn22Y7L?z`Le)D0@aL!ZncZ9ef)(!9W3Wg`S<GoQ0k8U&q!=rT?&cAmI&H>kH64z-4hP&7Z_B>XRORUwVyzs+sZ`xY@"
        "dwIwqleOnLY<wAO=CX|Iz&w8?>VS0}XT*G5e`eh&QGcvT@{CUo#5c~-o68NXHrA-%ON(_lajs*=yTYeL{&8IrU%O;}K}pO%EBN^r"
        "_uy2=h5ej$|M|IKzEug}o)LFJ@I_ItL-|b1j||`!ME<P_@Dtv^dXne&Nbn)}5PVI<%l%tHUd%_}Bk*sBte@*}4NGLcGl}PXlK4>D"
        "^WW-U=M#Ld8o-G!V*kd#%KdvO>t`DMX`1-utbP4Eg75gq-}eT_%kgXQ8NPAaAI<ZZ_0Q@`9{o|FZ*HG4|2sT;%*TD!Gy3b8I6uzg"
        "gP6a&7{Iar+TM5f1s^S;ewK)DIQINM3Epkt_o3zeRp0+C_!9UM_-nW9^M4h5xQpj!m-q)2JKy8}&+Ct{{)qTJZSP;-1s{HF!l`o~"
        "-nP&G<IfT!eWCe(ozXv1rAn15RjU6@dHl~j{>{3--d?LU=jem-=En2#>eI*V?e>%M>hg_^XX-bmPHjg"
    ),
    "netbsd_386": (
        "c-rlkF-yZh6vy8+X>(BYQixDGNa<n~ghB(ZDq0uOpibftgrckB;Gh^fXt&l`kl-f}ba8VK{Q`n(aq>er_+D}eS8s6@?hk+7UG8`H"
        "-o0eW#p-&8F;)Pn0$9K>KHrqNkMUhT_n{6&Xo7%AC?#`rWOH(iW3o-4o5nAJ9@v~*#d%e(lUbGw_mV3u2gpUaKUrUNu!u4zhx;7J"
        "wz__g30fW}kG255k62O{t^ZYYj+5M3)+*9EGubkFl1<JZV$GPNQg?DLOIed#(oCuy@6fx<Z;KsF)lj&8XM*=%IdnftImcz3SI?Wq"
        "yWR>2Y|zeIP`IGs@!(F3wILfXNzS4P^^SUI>D;EuwUK)eumgJDJ%tOA3z2IwojXvt*!Ot+DB!cLbH^%oh#bC<xth+M${rCn>f!q@"
        "xG;RtxpRe!)~0y$=EB*o&RxM+8?X^BT>tt`jEszojEszojEszo{)-&t-+QBbvb?>5gPEt<ABMI&_y"
    ),
    "dragonfly_amd64": (
        "c-pIX^>JfjWMqH=CI&kO5buDoJDBeP6<0tg0g72LumDLu23`g>AfE+Eodc8wqaQ%UVKjpPgaR4I%76?UQ0PKGb`%;}AILt20H}C?"
        "I|}{aC?^Vytd9-s5kaVj0#WFOJP21~9TSQ^N&zFX-C%PaP|Pp1W5*f_Fu)Gg&jb^I`xm0`kT4U9dIdE7{Al`5Bzr<>NcfbmMYW#;"
        "O}`YHeh0xoC=Ch63>F5w_N$=jKOh<ir3JC7N9XH7^)tg2z~T)WkIbm*(WA`<UB5C^zcNIB1p)g#(eyV!^*2EE2QcB+AA+X;fodR>"
        "hUix^#jigeO}|2PAe4sa4>HEDKNT9MaQF8?-QNe%zk?Bf`pH7m?=T@4N(+PO7q<BAFTso=2$%q|zYa@&83m(Y6pVsVFbYP&C>RB!"
        "U=+{>002s#FcS"
    ),
    "solaris_amd64": (
        "c-rlhziSjx5Xax{p1BhvxlM|QDLe#Aa|F~J<i|ZkT?C6;ZxyjxLz+k=g;yK|;{E~V4@ehM1=6Ppfh$6=u+UDhu@P+o_7?Gy`A&A<"
        "xcAP=YQJ#zy|?#1H}mGr&AW$B9=VRASgu-BXDdAyoUe8I#f7wLs7n8RN?lhY{dFm`PvaAN4?oSWs$?FxlQCMKjA_Fsu$|q>_$8H<"
        "HhlYe*>H~MAfAfxJPr&`eq1&@%blH3wS0Qe3Jp&>wA|fy4bBCZw24dFq2b1X`l?`A<~)a}BK-I1>Dq|;|MHQ8SF-0hXg!G%aC@bF"
        "VBWtHeZabry`%H`YvUef9+Y#tg*7U89ii_d;$qj_Ulo2!<e&Bx@$QuQ12qx<w%{x4kKxpZD~Dxk{kX50?>0iXZ|u7&_-mry2Ju}l"
        "<x4qyL*)N!E`<BJ{UGlzkoB9#|6`u`r((aXUxazUd<;GY|6#!Sxm{mk7BR0ELOAhzjy?aS{_9FM|0eQp692_B`%KpFwK)H``yrh8"
        "PRV}$j^N_}=MVhc{c^nl-s1-s^UY5Obx!}Y-b<e68|GejNc=7Q_n1%Tq;C{_RNNouu_NLq5%`FB?bzq$p5S}WLOAg)*Pj2r;Hxh}"
        "xc^Uc`#|tD@HOx^@7m)Z3qIb&{cjRKK5OSc^8Dud9ie_l#5Y{~{Q4~T-f<gFlly1W9{=m#Ek^o8@xKq5AB74PDpaUYp&_cTt}NAG"
        "y;;6@r@p#8{dR47M*RW0bz}w"
    ),
    "darwin_arm64": (
        "c-lMv>+L@t1_nk3AYcMwULf{hXJBAqPyh)rNP_r493LOx=<XWj8syJ_0T>ww1CTi#j39GDTq8oT=y%{p6@>DEPGMkW0J#SO;^RwF"
        "D@qW`Fw7HxnAh@~4bEplHkXB=0ht>gUtF1+l%Eq{TvD23h-uyeZg#MFKNt~wRwVr#Q1jT}<`w0qB$g!Na^C`8h<S@T5qwrW;T9jC"
        "o?nohlUI_Mgw;Hc=@9c$a@pa0W}@Q3#WBP&-r3(TI0P2nAafkz7*WC>#%G3N7D$j{@h1-RA`s>g@@EMOAJsgE83JJQ0$|1g`AkUa"
        "LE*23qQ9iFAT=j5FB`jg3uZ#htAHjB5Ffw$GJ#Qm+dPGN5c3qE>Op)~0`XA61TzOo;sC^)4pC+}A8cM814=xwBZXUhQfX#RN@iYK"
        "K5p~ii2}$+&JO@$m}de"
    ),
    "windows_amd64": (
        "c-r%gn!v!!z`(!)#Q*;@Fmy9OfCB?z&;Z1I^1JvLws4+R+`;H`Rxu<avsj^^C_lX@F;^iuF)uH_L?J0vp{O)ZAu~_G#XndfH$Np+"
        "kC&HA1!_isD+5DH8wZ5rB?P8EFeou_GXY)I#m>Nx2UQpfWD7u?#t0%oY$gT<HU>rp5T6Z9f@H-(957&JNN8kWP=Ig*V6GNG<D)Qv"
        "mWwf{u_Eyoh%qo&A}bJQh)`r888l25WGG<7Ew5LST2TU|Cw4&n3GzD|sv4kA67-5v5=#<+>}Q-nw*l3>0MZlKQPctB&Or~Nj9~>k"
        "&@&SRA>mjdh_3E{UIA30CDgB0K>C>=rg;?*brV1W55&M>&!8ZLsV)<u4jhKSumt--NeI*4qST!HWCmzh0^>{xNNHfGbJ8oW%q>Yw"
        "0;f*~196DGUP9=>=fp4y$N~VE;zmd"
    ),
}

HEADS = {platform: decompress(b85decode(packed)) for platform, packed in _PACKED.items()}
