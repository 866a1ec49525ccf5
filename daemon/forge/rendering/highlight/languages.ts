/** How a language is written, as far as colouring needs to know. */
export interface Language {
  /** What begins a comment to the end of the line. */
  readonly line?: readonly string[];
  readonly block?: readonly (readonly [open: string, close: string])[];
  /** Kinds of string; `'` and `"` end at the line's end, the others where they are closed. */
  readonly strings?: readonly ("'" | '"' | "`" | '"""' | "'''")[];
  /** Class to the words that get it. */
  readonly words: Readonly<Record<string, string>>;
  readonly ignoresCase?: boolean;
  /** Names that are no words get this class. */
  readonly nameClass?: "nx";
  /** Further patterns, tried first: class and the source of a regular expression that cannot backtrack far. */
  readonly extra?: readonly (readonly [className: string, pattern: string])[];
}

const c: Language = {
  line: ["//"],
  block: [["/*", "*/"]],
  strings: ['"', "'"],
  words: {
    k: "break case const continue default do else enum extern for goto if inline register return sizeof static struct switch typedef union volatile while class delete explicit export friend mutable namespace new noexcept operator private protected public template this throw try catch typename using virtual override final constexpr auto co_await co_return co_yield concept requires",
    kt: "bool char double float int long short signed unsigned void size_t wchar_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t",
    kc: "true false NULL nullptr",
  },
  extra: [["cp", "^[ \\t]*#[^\\n]*"]],
};

const ecma: Language = {
  line: ["//"],
  block: [["/*", "*/"]],
  strings: ['"', "'", "`"],
  words: {
    k: "break case catch continue debugger default delete do else export extends finally for from if import in instanceof new of return super switch this throw try typeof void while with yield async await static get set as satisfies",
    kd: "class const function let var enum interface type namespace declare readonly abstract implements private protected public",
    kt: "string number boolean any unknown never object symbol bigint",
    kc: "true false null undefined NaN Infinity",
    nb: "Array Boolean Date Error JSON Map Math Number Object Promise Proxy RegExp Set String Symbol WeakMap WeakSet console document globalThis process window",
  },
  nameClass: "nx",
};

const go: Language = {
  line: ["//"],
  block: [["/*", "*/"]],
  strings: ['"', "'", "`"],
  words: {
    k: "break case chan continue default defer else fallthrough for go goto if map range return select switch",
    kd: "const func interface struct type var",
    kn: "import package",
    kt: "any bool byte complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr",
    kc: "true false nil iota",
    nb: "append cap clear close complex copy delete imag len make max min new panic print println real recover",
  },
  nameClass: "nx",
};

const python: Language = {
  line: ["#"],
  strings: ['"""', "'''", '"', "'"],
  words: {
    k: "and as assert async await break class continue def del elif else except finally for global if in is lambda match nonlocal not or pass raise return try while with yield case",
    kn: "from import",
    kc: "True False None",
    nb: "abs all any bool bytes dict enumerate filter float format frozenset getattr hasattr int isinstance iter len list map max min next object open print range repr reversed round self set setattr sorted str sum super tuple type zip",
  },
  extra: [["nd", "@[\\w.]+"]],
};

const ruby: Language = {
  line: ["#"],
  strings: ['"', "'"],
  words: {
    k: "alias and begin break case class def defined do else elsif end ensure for if in module next not or redo rescue retry return self super then undef unless until when while yield require require_relative include extend",
    kc: "true false nil",
    nb: "puts print attr_accessor attr_reader attr_writer raise lambda proc",
  },
  extra: [["ss", ":[A-Za-z_]\\w*"]],
};

const rust: Language = {
  line: ["//"],
  block: [["/*", "*/"]],
  strings: ['"'],
  words: {
    k: "as async await break continue crate dyn else extern for if impl in loop match mod move pub ref return self Self super unsafe use where while yield",
    kd: "const enum fn let static struct trait type mut union",
    kt: "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize String Vec Option Result Box",
    kc: "true false None Some Ok Err",
  },
  extra: [
    ["cp", "#!?\\[[^\\]\\n]*\\]"],
    ["nf", "[a-z_]\\w*!"],
  ],
};

const java: Language = {
  line: ["//"],
  block: [["/*", "*/"]],
  strings: ['"""', '"', "'"],
  words: {
    k: "abstract assert break case catch continue default do else extends final finally for goto if implements import instanceof native new package private protected public return static super switch synchronized this throw throws transient try volatile while record sealed permits yield fun val var when is in object companion data override open suspend lateinit by constructor init internal inline namespace using internal readonly params ref out base event delegate lock async await get set virtual partial where select from let guard func extension protocol struct defer mutating inout associatedtype typealias import",
    kd: "class interface enum",
    kt: "boolean byte char double float int long short void String Integer Boolean Object Any Unit Int Long Double Float string bool decimal object uint ulong Bool Character",
    kc: "true false null nil",
  },
  extra: [["nd", "@[A-Za-z_]\\w*"]],
};

const php: Language = {
  line: ["//", "#"],
  block: [["/*", "*/"]],
  strings: ['"', "'"],
  words: {
    k: "abstract and array as break callable case catch class clone const continue declare default do echo else elseif empty enum extends final finally fn for foreach function global goto if implements include include_once instanceof interface isset list match namespace new or print private protected public readonly require require_once return static switch throw trait try unset use var while xor yield",
    kc: "true false null TRUE FALSE NULL",
  },
  extra: [
    ["nv", "\\$[A-Za-z_]\\w*"],
    ["cp", "<\\?(?:php|=)?|\\?>"],
  ],
};

const shell: Language = {
  line: ["#"],
  strings: ['"', "'"],
  words: {
    k: "if then else elif fi case esac for select while until do done in function time return exit break continue",
    nb: "alias bg bind cd command declare dirs echo enable eval exec export false fg getopts hash help history jobs kill let local logout popd printf pushd pwd read readonly set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait sudo",
  },
  extra: [
    ["nv", "\\$(?:\\{[^}\\n]*\\}|[A-Za-z_]\\w*|[0-9@#?$!*-])"],
    ["gp", "^\\$ "],
  ],
};

const sql: Language = {
  line: ["--"],
  block: [["/*", "*/"]],
  strings: ["'", '"'],
  words: {
    k: "add all alter and as asc begin between by case check column commit conflict constraint create cross default delete desc distinct do drop else end exists foreign from full group having if in index inner insert into is join key left like limit not nothing null on or order outer primary references returning right rollback select set strict table then trigger union unique update using values view when where with",
    kt: "bigint blob boolean bytea char date decimal double integer int json jsonb numeric real serial smallint text timestamp uuid varchar",
    kc: "true false",
  },
  ignoresCase: true,
};

const json: Language = {
  line: ["//"],
  block: [["/*", "*/"]],
  strings: ['"'],
  words: { kc: "true false null" },
  extra: [["nt", '"(?:[^"\\\\\\n]|\\\\.){0,200}"(?=[ \\t]{0,20}:)']],
};

const yaml: Language = {
  line: ["#"],
  strings: ['"', "'"],
  words: { kc: "true false null yes no on off" },
  extra: [
    ["nt", "^[ \\t]*(?:- )?[\\w./-]{1,100}(?=:(?:[ \\t\\n]|$))"],
    ["nd", "[&*][A-Za-z]\\w*"],
  ],
};

const ini: Language = {
  line: ["#", ";"],
  strings: ['"""', '"', "'"],
  words: { kc: "true false" },
  extra: [
    ["k", "^[ \\t]*\\[[^\\]\\n]*\\]+"],
    ["na", "^[ \\t]*[\\w.-]{1,100}(?=[ \\t]{0,20}=)"],
  ],
};

const markup: Language = {
  block: [["<!--", "-->"]],
  strings: ['"', "'"],
  words: {},
  extra: [
    ["nt", "</?[A-Za-z][\\w:.-]*|/?>"],
    ["na", "[\\w:@.-]{1,100}(?==[\"'])"],
    ["ni", "&[#\\w]{1,32};"],
  ],
};

const css: Language = {
  line: ["//"],
  block: [["/*", "*/"]],
  strings: ['"', "'"],
  words: { kc: "inherit initial unset none auto important" },
  extra: [
    ["k", "@[A-Za-z-]+"],
    ["nc", "\\.[A-Za-z_][\\w-]*"],
    ["na", "[A-Za-z-]{1,60}(?=[ \\t]{0,20}:)"],
    ["mh", "#[0-9A-Fa-f]{3,8}\\b"],
  ],
};

const diff: Language = {
  words: {},
  extra: [
    ["gh", "^(?:diff|index|---|\\+\\+\\+)[^\\n]*"],
    ["gu", "^@@[^\\n]*"],
    ["gi", "^\\+[^\\n]*"],
    ["gd", "^-[^\\n]*"],
  ],
};

const lua: Language = {
  block: [["--[[", "]]"]],
  line: ["--"],
  strings: ['"', "'"],
  words: {
    k: "and break do else elseif end for function goto if in local not or repeat return then until while",
    kc: "true false nil",
  },
};

const build: Language = {
  line: ["#"],
  strings: ['"', "'"],
  words: {
    k: "FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL AS include define endef ifdef ifndef ifeq ifneq else endif export override",
  },
  extra: [
    ["nv", "\\$[({][^)}\\n]*[)}]"],
    ["nf", "^[\\w./%-]{1,100}(?=:[^=])"],
  ],
};

const groups: readonly (readonly [names: string, language: Language])[] = [
  ["js javascript jsx mjs cjs ts typescript tsx mts cts node", ecma],
  ["go golang", go],
  ["py python python3", python],
  ["rb ruby", ruby],
  ["rs rust", rust],
  ["java kt kotlin cs csharp c# swift scala groovy dart", java],
  ["c h cpp c++ cc hpp cxx objc objective-c zig", c],
  ["php", php],
  ["sh bash shell zsh console terminal fish", shell],
  ["sql sqlite postgresql mysql", sql],
  ["json json5 jsonc", json],
  ["yaml yml", yaml],
  ["toml ini cfg conf properties", ini],
  ["html xml svg vue xhtml", markup],
  ["css scss less", css],
  ["diff patch", diff],
  ["lua", lua],
  ["dockerfile docker makefile make", build],
];

/** Every name that a fence may give its language, in lower case. */
export const languages: ReadonlyMap<string, Language> = new Map(
  groups.flatMap(([names, language]) => names.split(" ").map((name) => [name, language] as const)),
);
