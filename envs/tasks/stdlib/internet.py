"""Targets about addresses, mail headers, cookies and URLs; none of them opens a connection."""

from __future__ import annotations

from hypothesis import strategies as st

from .inputs import BOOL, lines, numbers, one_of, pieces, targets_of, whole

target = targets_of("std_internet")

_OCTETS = st.lists(
    one_of("0", "1", "10", "127", "192", "168", "255", "256", "01", "x", "169", "172"),
    min_size=3,
    max_size=5,
).map(".".join)
_V4 = st.lists(one_of(0, 1, 10, 127, 192, 255, 172, 16, 100, 64), min_size=4, max_size=4).map(
    lambda parts: ".".join(map(str, parts))
)
_GROUPS = pieces(
    "::", "1", ":", "ffff", "0", "2001", "db8", "12345", "g", "1.2.3.4", "%eth0", ":", most=9
)
_V6 = one_of(
    "::",
    "::1",
    "2001:db8::1",
    "fe80::1",
    "ff02::2",
    "fc00::9",
    "::ffff:1.2.3.4",
    "2002:102:304::",
    "2001:0:102:304:0:ffff:f5f5:5f5f",
    "1:0:0:2::3",
    "1:2:3:4:5:6:7:8",
    "0:0:1::",
    "fec0::1",
    "64:ff9b::1",
)
_NET = st.tuples(
    one_of("10.0.0.0", "10.0.0.128", "192.168.1.0", "0.0.0.0", "10.0.0.4", "172.16.0.0"),
    whole(8, 32),
).map(lambda pair: f"{pair[0]}/{pair[1]}")
_NET_LOOSE = _NET | st.tuples(
    _V4, one_of("24", "255.255.255.0", "0.0.0.255", "33", "x", "255.0.255.0", "")
).map("/".join)
_URL = pieces(
    "http",
    ":",
    "//",
    "host",
    "/",
    "a",
    "?",
    "q=1",
    "#",
    "frag",
    ";p",
    "@",
    ":80",
    "..",
    "[::1]",
    most=8,
)
_REL = pieces("..", "/", "a", ".", "?q", "#f", "g", ";x", "//h", most=5)
_BASE = one_of(
    "http://a/b/c/d;p?q", "http://a/b/", "http://a", "mailto:x@y", "", "file:///x/y", "/p/q/r"
)
_QUERY = pieces("a=1", "&", "b", "=", "%41", "+", ";", "c=", "a=2", "%zz", most=6)
_QUOTED = pieces("a", "%41", "%e9", "%C3%A9", "%", "%4", "é", "+", "%zz", "%2F", most=5)
_TEXT = pieces("a", " ", "é", "/", "~", "?", "b", "=", "&", "_", "%", most=6)
_DATE = st.tuples(
    one_of("Mon, ", "", "Mon,", "x "),
    one_of("16 Nov 2009", "16-Nov-09", "Nov 16 2009", "31 Foo 2001", "16 Nov 68", "1 jan 70"),
    one_of(" 13:32:02", " 13:32", " 13.32.02", ""),
    one_of(" +0100", " -0500", " GMT", " EST", "", " x", " -0000"),
).map("".join)
_ADDRESS = pieces(
    "Ann",
    " ",
    "<",
    "a@b.c",
    ">",
    ",",
    '"J. D."',
    "(note)",
    "@",
    ":",
    ";",
    "x.y",
    "group:",
    "\\",
    most=7,
)
_HEADER = pieces(
    "a",
    "=?utf-8?q?=C3=A9?=",
    " ",
    "=?iso-8859-1?b?4Q==?=",
    "=?x?q?",
    "b",
    "=?utf-8?b?w6k=?=",
    "\n ",
    most=5,
)
_COOKIE = pieces(
    "a=1",
    "; ",
    "Path=/x",
    'b="q;r"',
    "Secure",
    "HttpOnly",
    "c",
    "$Version=1",
    "=",
    "expires=Wed, 01-Jan-2020 00:00:00 GMT",
    most=5,
)
_HTTP_DATE = st.tuples(
    one_of("Wed, ", "", "Wednesday, "),
    one_of("09 Feb 1994", "08-Feb-94", "Feb  3 1994", "3 Feb 2033", "99 Feb 1994", "09 Xxx 1994"),
    one_of(" 22:23:32", " 00:00", "", " 25:61:00"),
    one_of(" GMT", "", " +0100", " EST", " -0730"),
).map("".join)
_ISO = pieces(
    "1994", "-02", "-03", " 14:15:29", "T00:00", " -0100", "Z", " +0730", ".5", "19940203", most=4
)
_HOST = one_of(
    "www.acme.com",
    "acme.com",
    ".acme.com",
    "com",
    "127.0.0.1",
    ".local",
    "x.y.acme.com",
    "localhost",
    "acme.com.",
    "y.com",
    "",
)
_HEADERS = st.lists(
    pieces('foo="bar"', ";", " ", "port=80", ",", "x", "=", '"a\\"b"', "basic", most=6), max_size=2
)
_ROBOTS = lines(
    "User-agent: *",
    "User-agent: bot",
    "Disallow: /a",
    "Allow: /a/b",
    "Disallow:",
    "",
    "# c",
    "Crawl-delay: 3",
    "Disallow: /%7ej",
    "Sitemap: http://x",
    "Request-rate: 1/5",
    most=7,
)
_PARAMS = st.lists(
    st.tuples(
        one_of("name", "name*0", "name*1", "name*0*", "title*", "x"),
        one_of("a", "us-ascii'en'b%20c", "'d'", '"e"'),
    ),
    max_size=4,
)

TARGETS = (
    target(
        "ipaddress", "_BaseV4._ip_int_from_string", "int(IPv4Address({text}))", text=_OCTETS | _V4
    ),
    target(
        "ipaddress",
        "_BaseV4._parse_octet",
        "int(IPv4Address({text}))",
        text=_OCTETS
        | st.tuples(
            one_of("1.2.3", "0.0.0"), one_of("", "1234", "²", "00", "0", "256", "255", "-1")
        ).map(".".join),
    ),
    target(
        "ipaddress",
        "IPv4Address.__init__",
        "str(IPv4Address({value}))",
        value=_V4
        | whole(-2, 2**32 + 2)
        | one_of("1.2.3.4/8", b"\1\2\3\4", b"\1\2", 2**32 - 1, 2**32)
        | st.binary(max_size=5),
    ),
    target("ipaddress", "_BaseAddress.__lt__", "IPv4Address({a}) < IPv4Address({b})", a=_V4, b=_V4),
    target(
        "ipaddress",
        "_BaseAddress.__eq__",
        "IPv4Address({a}) == IPv4Address({b})",
        a=one_of("1.2.3.4", "1.2.3.5") | whole(0, 9),
        b=one_of("1.2.3.4", "0.0.0.3") | whole(0, 9),
    ),
    target(
        "ipaddress",
        "_BaseAddress.__format__",
        "format(IPv4Address({a}), {spec})",
        a=_V4,
        spec=one_of("s", "b", "x", "#X", "_n", "n", "#_b", "d", ""),
    ),
    target(
        "ipaddress",
        "_BaseV4._make_netmask",
        "str(IPv4Network({text}, strict=False))",
        text=_NET_LOOSE,
    ),
    target(
        "ipaddress",
        "_IPAddressBase._prefix_from_ip_int",
        "IPv4Network({text}, strict=False).prefixlen",
        text=st.tuples(
            _V4,
            one_of(
                "255.255.255.0",
                "0.0.0.255",
                "255.0.255.0",
                "128.0.0.0",
                "0.0.0.0",
                "255.255.255.254",
            ),
        ).map("/".join),
    ),
    target(
        "ipaddress",
        "_IPAddressBase._prefix_from_prefix_string",
        "str(IPv4Network({text}, strict=False))",
        text=st.tuples(_V4, one_of("24", "33", "-1", "032", "x", "", "0", "32", "²")).map("/".join),
    ),
    target(
        "ipaddress",
        "IPv4Network.__init__",
        "str(IPv4Network({text}, {strict}))",
        text=_NET_LOOSE,
        strict=BOOL,
    ),
    target(
        "ipaddress",
        "_count_righthand_zero_bits",
        "_count_righthand_zero_bits({n}, {bits})",
        n=whole(0, 4096),
        bits=whole(0, 16),
    ),
    target(
        "ipaddress",
        "_BaseNetwork.__getitem__",
        "str(IPv4Network({net}, False)[{n}])",
        net=_NET,
        n=whole(-9, 9),
    ),
    target(
        "ipaddress",
        "_BaseNetwork.__contains__",
        "IPv4Address({a}) in IPv4Network({net}, False)",
        a=one_of("10.0.0.1", "10.0.0.129", "192.168.1.1", "10.0.0.4", "10.0.0.7"),
        net=_NET,
    ),
    target(
        "ipaddress",
        "_BaseNetwork.__lt__",
        "IPv4Network({a}, False) < IPv4Network({b}, False)",
        a=_NET,
        b=_NET,
    ),
    target(
        "ipaddress",
        "_BaseNetwork.__eq__",
        "IPv4Network({a}, False) == IPv4Network({b}, False)",
        a=_NET,
        b=_NET,
    ),
    target(
        "ipaddress",
        "_BaseNetwork.overlaps",
        "IPv4Network({a}, False).overlaps(IPv4Network({b}, False))",
        a=_NET,
        b=_NET,
    ),
    target(
        "ipaddress", "_BaseNetwork.num_addresses", "IPv4Network({a}, False).num_addresses", a=_NET
    ),
    target(
        "ipaddress",
        "_BaseNetwork.compare_networks",
        "IPv4Network({a}, False).compare_networks(IPv4Network({b}, False))",
        a=_NET,
        b=_NET,
    ),
    target(
        "ipaddress",
        "_BaseNetwork.subnets",
        "[str(n) for n in __import__('itertools')"
        ".islice(IPv4Network({net}, False).subnets({diff}, {prefix}), 4)]",
        net=_NET,
        diff=whole(-1, 3),
        prefix=st.none() | whole(8, 33),
    ),
    target(
        "ipaddress",
        "_BaseNetwork.supernet",
        "str(IPv4Network({net}, False).supernet({diff}, {prefix}))",
        net=_NET,
        diff=whole(-1, 9),
        prefix=st.none() | whole(0, 30),
    ),
    target(
        "ipaddress",
        "_BaseNetwork._is_subnet_of",
        "IPv4Network({a}, False).subnet_of(IPv4Network({b}, False))",
        a=_NET,
        b=_NET,
    ),
    target(
        "ipaddress",
        "_BaseNetwork.hosts",
        "list(map(str, __import__('itertools').islice(IPv4Network({net}, False).hosts(), 3)))",
        net=_NET,
    ),
    target(
        "ipaddress",
        "_BaseV6._ip_int_from_string",
        "_BaseV6._ip_int_from_string({text})",
        text=_GROUPS | _V6,
    ),
    target(
        "ipaddress",
        "_BaseV6._parse_hextet",
        "_BaseV6._parse_hextet({text})",
        text=pieces("f", "0", "1", "g", "-", "F", "ab", most=5),
    ),
    target(
        "ipaddress",
        "_BaseV6._compress_hextets",
        "_BaseV6._compress_hextets({groups})",
        groups=st.lists(one_of("0", "0", "1", "ffff"), min_size=6, max_size=9),
    ),
    target(
        "ipaddress",
        "_BaseV6._string_from_ip_int",
        "_BaseV6._string_from_ip_int({n})",
        n=whole(0, 2**128 + 9) | whole(0, 2**33),
    ),
    target(
        "ipaddress",
        "_BaseV6._split_scope_id",
        "_BaseV6._split_scope_id({text})",
        text=st.tuples(_V6, pieces("%", "eth0", "1", most=3)).map("".join),
    ),
    target("urllib.parse", "urlsplit", "tuple(urlsplit({url}))", url=_URL),
    target("urllib.parse", "urlparse", "tuple(urlparse({url}))", url=_URL),
    target(
        "urllib.parse",
        "_splitparams",
        "_splitparams({url})",
        url=pieces("a", ";", "/", "b", "x", most=6),
    ),
    target(
        "urllib.parse", "_splitnetloc", "_splitnetloc({url}, {start})", url=_URL, start=whole(0, 4)
    ),
    target(
        "urllib.parse",
        "urlunsplit",
        "urlunsplit({parts})",
        parts=st.tuples(
            one_of("", "http", "x"),
            one_of("", "host"),
            one_of("", "a", "/a", "//b"),
            one_of("", "q"),
            one_of("", "f"),
        ),
    ),
    target(
        "urllib.parse",
        "urlunparse",
        "urlunparse({parts})",
        parts=st.tuples(
            one_of("", "http"),
            one_of("", "host"),
            one_of("", "a", "/a", "//b"),
            one_of("", "p"),
            one_of("", "q"),
            one_of("", "f"),
        ),
    ),
    target("urllib.parse", "urljoin", "urljoin({base}, {url})", base=_BASE, url=_REL),
    target("urllib.parse", "unquote_to_bytes", "unquote_to_bytes({text})", text=_QUOTED),
    target(
        "urllib.parse",
        "unquote",
        "unquote({text}, {encoding})",
        text=_QUOTED,
        encoding=one_of("utf-8", "latin-1", None),
    ),
    target(
        "urllib.parse",
        "parse_qsl",
        "parse_qsl({query}, {keep}, {strict}, separator={sep})",
        query=_QUERY,
        keep=BOOL,
        strict=BOOL,
        sep=one_of("&", "&", ";", ""),
    ),
    target(
        "urllib.parse",
        "quote",
        "quote({text}, {safe}, {encoding})",
        text=_TEXT,
        safe=one_of("/", "", "~ "),
        encoding=one_of(None, "latin-1"),
    ),
    target(
        "urllib.parse",
        "quote_plus",
        "quote_plus({text}, {safe})",
        text=_TEXT,
        safe=one_of("", "/", " "),
    ),
    target(
        "urllib.parse",
        "quote_from_bytes",
        "quote_from_bytes({data}, {safe})",
        data=st.binary(max_size=5) | _TEXT.map(str.encode),
        safe=one_of("/", "", "a"),
    ),
    target(
        "urllib.parse",
        "urlencode",
        "urlencode({pairs}, {many})",
        pairs=st.lists(
            st.tuples(
                one_of("a", "b c", b"k"),
                whole(0, 9) | numbers(1, 3, most=2) | one_of("x y", b"z", "é"),
            ),
            max_size=3,
        ),
        many=BOOL,
    ),
    target(
        "urllib.parse",
        "unwrap",
        "unwrap({url})",
        url=pieces("<", "URL:", ">", " ", "a", "b", most=6),
    ),
    target(
        "urllib.parse",
        "_NetlocResultMixinBase.port",
        "urlsplit({url}).port",
        url=st.tuples(
            one_of("http://h", "//u@h", "//[::1]", "x:"),
            one_of(":80", ":", "", ":65536", ":65535", ":x", ":-1"),
        ).map("".join)
        | _URL,
    ),
    target(
        "urllib.parse",
        "_NetlocResultMixinStr._hostinfo",
        "urlsplit({url}).hostname",
        url=_URL.map(lambda s: "//" + s) | _URL,
    ),
    target(
        "urllib.parse",
        "_NetlocResultMixinStr._userinfo",
        "(lambda u: (u.username, u.password))(urlsplit({url}))",
        url=pieces("//", "u", ":", "p", "@", "h", "@", most=7).map(lambda s: "//" + s),
    ),
    target(
        "email.utils",
        "formataddr",
        "formataddr({pair})",
        pair=st.tuples(_TEXT | one_of("", "J. Doe", 'a"b'), one_of("a@b.c", "x@é")),
    ),
    target(
        "email.utils",
        "_format_timetuple_and_zone",
        "_format_timetuple_and_zone({time}, {zone})",
        time=st.tuples(
            whole(1970, 2030),
            whole(1, 12),
            whole(1, 31),
            whole(0, 23),
            whole(0, 59),
            whole(0, 59),
            whole(0, 6),
        ),
        zone=one_of("GMT", "+0100"),
    ),
    target(
        "email.utils", "parsedate_to_datetime", "str(parsedate_to_datetime({text}))", text=_DATE
    ),
    target(
        "email.utils",
        "unquote",
        "unquote({text})",
        text=pieces('"', "<", ">", "a", "\\", "b", most=6),
    ),
    target(
        "email.utils",
        "decode_rfc2231",
        "decode_rfc2231({text})",
        text=pieces("utf-8", "'", "en", "a%20b", "''", most=5),
    ),
    target(
        "email.utils",
        "encode_rfc2231",
        "encode_rfc2231({text}, {charset}, {language})",
        text=_TEXT,
        charset=one_of(None, "utf-8"),
        language=one_of(None, "en"),
    ),
    target(
        "email.utils", "decode_params", "decode_params([('x', 'y'), *{params}])", params=_PARAMS
    ),
    target(
        "email.utils",
        "collapse_rfc2231_value",
        "collapse_rfc2231_value({value})",
        value=_TEXT | st.tuples(one_of(None, "utf-8", "latin-1", "zz"), one_of(None, "en"), _TEXT),
    ),
    target("email._parseaddr", "_parsedate_tz", "_parsedate_tz({text})", text=_DATE),
    target("email._parseaddr", "parsedate_tz", "parsedate_tz({text})", text=_DATE),
    target(
        "email._parseaddr",
        "mktime_tz",
        "mktime_tz(({year}, {month}, {day}, {hour}, 0, 0, 0, 1, -1, {offset}))",
        year=whole(1970, 2030),
        month=whole(1, 12),
        day=whole(1, 28),
        hour=whole(0, 23),
        offset=whole(-43200, 43200),
    ),
    target(
        "email._parseaddr",
        "AddrlistClass.getaddress",
        "AddressList({text}).addresslist",
        text=_ADDRESS,
    ),
    target(
        "email._parseaddr",
        "AddrlistClass.gotonext",
        "AddressList({text}).addresslist",
        text=_ADDRESS,
    ),
    target(
        "email._parseaddr",
        "AddrlistClass.getaddrspec",
        "AddressList({text}).addresslist",
        text=pieces("a", ".", "@", "b", " ", '"q r"', "c.d", "(n)", most=7),
    ),
    target(
        "email._parseaddr",
        "AddrlistClass.getrouteaddr",
        "AddressList({text}).addresslist",
        text=pieces("<", "@r,", ":", "a@b", ">", " ", "x", ",", most=6),
    ),
    target(
        "email._parseaddr",
        "AddrlistClass.getdomain",
        "AddressList({text}).addresslist",
        text=pieces("b", ".", "[1.2]", " ", "(n)", "c", "@", ",", most=6).map(lambda s: "a@" + s),
    ),
    target(
        "email._parseaddr",
        "AddrlistClass.getdelimited",
        "AddressList({text}).addresslist",
        text=pieces('"', "a", "\\", "(", ")", "<a@b>", "\r", " ", most=7),
    ),
    target(
        "email._parseaddr",
        "AddrlistClass.getphraselist",
        "AddressList({text}).addresslist",
        text=pieces("Ann", " ", '"q"', "(n)", "<a@b>", ".", "x", most=6),
    ),
    target(
        "email._parseaddr",
        "AddrlistClass.getatom",
        "AddressList({text}).addresslist",
        text=pieces("a", ".", "@", "b", " ", ";", "c", "[", most=7),
    ),
    target(
        "email.base64mime", "header_length", "header_length({data})", data=st.binary(max_size=70)
    ),
    target(
        "email.base64mime",
        "body_encode",
        "body_encode({data}, {width}, {eol})",
        data=st.binary(max_size=40),
        width=whole(1, 40),
        eol=one_of("\n", "\r\n"),
    ),
    target(
        "email.quoprimime",
        "unquote",
        "unquote({text})",
        text=st.tuples(one_of("="), st.text("0123456789ABCDEF", min_size=2, max_size=2)).map(
            "".join
        ),
    ),
    target(
        "email.quoprimime",
        "body_encode",
        "body_encode({text}, {width})",
        text=pieces("abc", " ", "=", "é", "\n", "\r\n", "0123456789", "\t", most=7),
        width=whole(3, 30),
    ),
    target(
        "email.quoprimime",
        "decode",
        "decode({text})",
        text=pieces("a", "=3D", "=", "\n", " ", "=E9", "=4", "==", "\t", most=7),
    ),
    target(
        "email.quoprimime",
        "header_encode",
        "header_encode({data})",
        data=_TEXT.map(str.encode) | st.just(b""),
    ),
    target("email.header", "decode_header", "decode_header({text})", text=_HEADER),
    target(
        "email._encoded_words",
        "decode_b",
        "str(decode_b({data}))",
        data=st.text("QUJDRE=+/-", max_size=9).map(str.encode),
    ),
    target("email._encoded_words", "len_b", "len_b({data})", data=st.binary(max_size=40)),
    target(
        "email._encoded_words",
        "encode",
        "encode({text}, {charset})",
        text=_TEXT,
        charset=one_of("utf-8", "utf-8", "latin-1", "us-ascii"),
    ),
    target(
        "http.cookies",
        "_quote",
        "_quote({text})",
        text=pieces("a", " ", '"', ";", "é", "\n", "b", most=6) | st.none(),
    ),
    target(
        "http.cookies",
        "_unquote",
        "_unquote({text})",
        text=pieces("a", '\\"', "\\054", "\\", "\\9", "b", most=5).map(lambda s: f'"{s}"')
        | pieces("a", '"', "\\", most=4),
    ),
    target(
        "http.cookies",
        "BaseCookie.__parse_string",
        "sorted((k, m.value) for k, m in SimpleCookie({text}).items())",
        text=_COOKIE,
    ),
    target("http.cookies", "Morsel.OutputString", "SimpleCookie({text}).output()", text=_COOKIE),
    target(
        "http.cookiejar",
        "offset_from_tz_string",
        "offset_from_tz_string({tz})",
        tz=one_of("UTC", "GMT", "Z", "EST") | pieces("+", "-", "01", "30", ":", "9", most=5),
    ),
    target(
        "http.cookiejar",
        "_str2time",
        "_str2time({day}, {month}, {year}, {hour}, {minute}, None, {tz})",
        day=whole(0, 32).map(str),
        month=one_of("Feb", "feb", "12", "13", "0", "x"),
        year=one_of("1994", "2004", "1969", "2100", "1971"),
        hour=one_of(None, "0", "23", "24", "25"),
        minute=one_of("0", "59", "60", None),
        tz=one_of("GMT", None, "+0130", "XX"),
    ),
    target(
        "http.cookiejar",
        "http2time",
        "http2time({text})",
        text=_HTTP_DATE.filter(lambda s: "94 " not in s or "1994" in s),
    ),
    target("http.cookiejar", "iso2time", "iso2time({text})", text=_ISO),
    target(
        "http.cookiejar", "split_header_words", "split_header_words({headers})", headers=_HEADERS
    ),
    target(
        "http.cookiejar",
        "join_header_words",
        "join_header_words({lists})",
        lists=st.lists(
            st.lists(
                st.tuples(one_of("a", "port"), one_of(None, "x", "a b", 'q"r', "")), max_size=3
            ),
            max_size=3,
        ),
    ),
    target(
        "http.cookiejar",
        "strip_quotes",
        "strip_quotes({text})",
        text=pieces('"', "a", "b", " ", most=6),
    ),
    target(
        "http.cookiejar",
        "parse_ns_headers",
        "parse_ns_headers({headers})",
        headers=st.lists(
            pieces(
                "a=1",
                ";",
                " ",
                "path=/",
                "secure",
                "version=1",
                "c",
                'd="x"',
                "=",
                "domain=.y.z",
                most=6,
            ),
            max_size=2,
        ),
    ),
    target(
        "http.cookiejar",
        "is_HDN",
        "is_HDN({host})",
        host=_HOST | pieces("a", ".", "1", "b", most=5),
    ),
    target("http.cookiejar", "domain_match", "domain_match({a}, {b})", a=_HOST, b=_HOST),
    target("http.cookiejar", "user_domain_match", "user_domain_match({a}, {b})", a=_HOST, b=_HOST),
    target(
        "http.cookiejar",
        "reach",
        "reach({host})",
        host=_HOST | pieces("a", ".", "com", "local", "b", most=5),
    ),
    target(
        "urllib.robotparser",
        "RobotFileParser.parse",
        "(lambda r: (r.parse({lines}), r.can_fetch({agent}, {url}), r.site_maps(), str(r)))"
        "(RobotFileParser())",
        lines=_ROBOTS,
        agent=one_of("bot", "x/1.0"),
        url=one_of("/a", "/a/b", "/c", "http://h/~j", ""),
    ),
    target(
        "urllib.robotparser",
        "RobotFileParser.can_fetch",
        "(lambda r: (r.parse({lines}), r.can_fetch({agent}, {url})))(RobotFileParser())",
        lines=_ROBOTS,
        agent=one_of("bot", "x/1.0"),
        url=one_of("/a", "/a/b", "/c", "http://h/~j", ""),
    ),
    target(
        "urllib.robotparser",
        "Entry.applies_to",
        "(lambda r: (r.parse({lines}), r.can_fetch({agent}, {url})))(RobotFileParser())",
        lines=st.tuples(
            one_of("User-agent: *", "User-agent: Bot", "User-agent: x"),
            one_of("Disallow: /a", "Disallow: /"),
        ).map(list),
        agent=one_of("bot", "x/1.0", "BOT/2", "y", "robot"),
        url=one_of("/a", "/b", "/a/b"),
    ),
    target(
        "wsgiref.headers",
        "_formatparam",
        "_formatparam({name}, {value}, {quote})",
        name=one_of("a", "b"),
        value=_TEXT | st.none(),
        quote=whole(0, 1),
    ),
    target(
        "xmlrpc.client",
        "Marshaller.dump_long",
        "dumps(({n},))",
        n=whole(2**31 - 200, 2**31 + 200)
        | one_of(2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**31 + 1),
    ),
)
