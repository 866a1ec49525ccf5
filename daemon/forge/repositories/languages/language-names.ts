/** Programming and markup languages by the suffixes of file names. */
const byExtension: Readonly<Record<string, string>> = {
  ...spread("Ada", "adb ads"),
  ...spread("Assembly", "asm s"),
  ...spread("Astro", "astro"),
  ...spread("Awk", "awk"),
  ...spread("Batchfile", "bat cmd"),
  ...spread("C", "c h"),
  ...spread("C#", "cs csx"),
  ...spread("C++", "cc cpp cxx hh hpp hxx"),
  ...spread("CMake", "cmake"),
  ...spread("COBOL", "cob cbl"),
  ...spread("CSS", "css"),
  ...spread("Clojure", "clj cljc cljs"),
  ...spread("CoffeeScript", "coffee"),
  ...spread("Common Lisp", "lisp"),
  ...spread("Crystal", "cr"),
  ...spread("Cuda", "cu cuh"),
  ...spread("D", "d"),
  ...spread("Dart", "dart"),
  ...spread("Elixir", "ex exs"),
  ...spread("Elm", "elm"),
  ...spread("Emacs Lisp", "el"),
  ...spread("Erlang", "erl hrl"),
  ...spread("F#", "fs fsx"),
  ...spread("Fortran", "f f90 f95 f03"),
  ...spread("GLSL", "glsl frag vert"),
  ...spread("Go", "go"),
  ...spread("Groovy", "groovy gradle"),
  ...spread("HCL", "tf hcl"),
  ...spread("HTML", "html htm xhtml"),
  ...spread("Haskell", "hs"),
  ...spread("Java", "java"),
  ...spread("JavaScript", "js cjs mjs jsx"),
  ...spread("Julia", "jl"),
  ...spread("Kotlin", "kt kts"),
  ...spread("Less", "less"),
  ...spread("Lua", "lua"),
  ...spread("Nim", "nim"),
  ...spread("Nix", "nix"),
  ...spread("OCaml", "ml mli"),
  ...spread("Objective-C", "m"),
  ...spread("Objective-C++", "mm"),
  ...spread("PHP", "php"),
  ...spread("Pascal", "pas dpr"),
  ...spread("Perl", "pl pm"),
  ...spread("PowerShell", "ps1 psm1 psd1"),
  ...spread("Prolog", "pro"),
  ...spread("Python", "py pyi pyw"),
  ...spread("R", "r"),
  ...spread("Racket", "rkt"),
  ...spread("Ruby", "rb rake gemspec"),
  ...spread("Rust", "rs"),
  ...spread("SCSS", "scss"),
  ...spread("Sass", "sass"),
  ...spread("Scala", "scala sc"),
  ...spread("Scheme", "scm ss"),
  ...spread("Shell", "sh bash zsh"),
  ...spread("Solidity", "sol"),
  ...spread("Stylus", "styl"),
  ...spread("Svelte", "svelte"),
  ...spread("Swift", "swift"),
  ...spread("SystemVerilog", "sv svh"),
  ...spread("TSX", "tsx"),
  ...spread("Tcl", "tcl"),
  ...spread("TeX", "tex sty cls"),
  ...spread("TypeScript", "ts cts mts"),
  ...spread("VHDL", "vhd vhdl"),
  ...spread("Verilog", "v"),
  ...spread("Vim Script", "vim"),
  ...spread("Visual Basic .NET", "vb"),
  ...spread("Vue", "vue"),
  ...spread("WebAssembly", "wat wast"),
  ...spread("Zig", "zig"),
};

/** Languages of data and prose, which are counted only where attributes say so. */
const dataByExtension: Readonly<Record<string, string>> = {
  ...spread("AsciiDoc", "adoc asciidoc"),
  ...spread("CSV", "csv"),
  ...spread("GraphQL", "graphql gql"),
  ...spread("INI", "ini"),
  ...spread("JSON", "json"),
  ...spread("Jupyter Notebook", "ipynb"),
  ...spread("Markdown", "md markdown"),
  ...spread("Org", "org"),
  ...spread("Protocol Buffer", "proto"),
  ...spread("SQL", "sql"),
  ...spread("SVG", "svg"),
  ...spread("TOML", "toml"),
  ...spread("Text", "txt"),
  ...spread("XML", "xml xsd"),
  ...spread("YAML", "yaml yml"),
  ...spread("reStructuredText", "rst"),
};

const byName: Readonly<Record<string, string>> = {
  "cmakelists.txt": "CMake",
  dockerfile: "Dockerfile",
  gemfile: "Ruby",
  gnumakefile: "Makefile",
  jenkinsfile: "Groovy",
  makefile: "Makefile",
  rakefile: "Ruby",
};

function spread(language: string, extensions: string): Readonly<Record<string, string>> {
  return Object.fromEntries(extensions.split(" ").map((extension) => [extension, language]));
}

const VENDORED =
  /(?:^|\/)(?:node_modules|bower_components|vendor|third[_-]party|dist)\/|(?:^|\/)\.|\.min\.(?:css|js)$/i;
const DOCUMENTATION = /(?:^|\/)(?:docs?|examples?|samples?)\//i;

/** The attributes of a file that say how it counts, of Linguist, and of GitLab. */
export const LANGUAGE_ATTRIBUTES = [
  "linguist-vendored",
  "linguist-generated",
  "linguist-documentation",
  "linguist-detectable",
  "linguist-language",
  "gitlab-language",
];

/** Largest file of attributes that is read. */
export const ATTRIBUTES_BYTES_MAX = 256 * 1024;
/** Longest name of a language in an attribute. */
const NAME_CHARACTERS_MAX = 64;

/** Names of languages in small letters, with hyphens for spaces as in attributes. */
const namesByKey = new Map(
  [byExtension, dataByExtension, byName]
    .flatMap((names) => Object.values(names))
    .map((name) => [toKey(name), name]),
);

function toKey(name: string): string {
  return name.toLowerCase().replaceAll(" ", "-");
}

/**
 * Returns the language of a file by its path and attributes; undefined for a file that is not counted: vendored,
 * generated, documentation, or without a known language of code.
 */
export function findLanguage(
  path: string,
  attributes: ReadonlyMap<string, boolean | string> = new Map(),
): string | undefined {
  const is = (name: string) => toFlag(attributes.get(`linguist-${name}`));
  if (is("vendored") ?? VENDORED.test(path)) return undefined;
  if (is("documentation") ?? DOCUMENTATION.test(path)) return undefined;
  if (is("generated") === true || is("detectable") === false) return undefined;
  const given = attributes.get("linguist-language") ?? attributes.get("gitlab-language");
  const named = typeof given === "string" ? toLanguage(given) : "";
  if (named !== "") return named;
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (Object.hasOwn(byName, name)) return byName[name];
  const dot = name.lastIndexOf(".");
  const extension = dot <= 0 ? "" : name.slice(dot + 1);
  if (Object.hasOwn(byExtension, extension)) return byExtension[extension];
  const isData = is("detectable") === true && Object.hasOwn(dataByExtension, extension);
  return isData ? dataByExtension[extension] : undefined;
}

/** Other texts than `true` and `false` leave the decision to the path. */
function toFlag(value: boolean | string | undefined): boolean | undefined {
  if (typeof value === "boolean") return value;
  return value === "true" || (value === "false" ? false : undefined);
}

/** The first suffix of each language, by which code is highlighted. */
const suffixes = new Map(
  [...Object.entries(dataByExtension), ...Object.entries(byExtension)]
    .toReversed()
    .map(([suffix, language]) => [language, suffix]),
);

/** Returns the word for a language in an attribute that fenced code is marked with: `cpp` for `C++`. */
export function toCodeName(given: string): string {
  const name = toLanguage(given);
  return suffixes.get(name) ?? toKey(name).replace(/[^\p{L}\p{N}+#.-]/gu, "");
}

/** Returns the known spelling of a language, or an unknown one as it is. GitLab adds parameters after `?`. */
function toLanguage(given: string): string {
  const name = given.split("?", 1).join().slice(0, NAME_CHARACTERS_MAX);
  return namesByKey.get(toKey(name)) ?? name;
}
