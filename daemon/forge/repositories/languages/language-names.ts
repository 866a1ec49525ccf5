/**
 * Programming and markup languages by the suffixes of file names. Data and prose, such as JSON and Markdown, are not
 * counted.
 */
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

/** Folders of vendored code and of documentation. */
const EXCLUDED =
  /(?:^|\/)(?:node_modules|bower_components|vendor|third[_-]party|dist|docs?|examples?|samples?)\/|(?:^|\/)\.|\.min\.(?:css|js)$/i;

/** Returns the language of a file by its path; undefined for other files and for vendored code. */
export function findLanguage(path: string): string | undefined {
  if (EXCLUDED.test(path)) return undefined;
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (Object.hasOwn(byName, name)) return byName[name];
  const dot = name.lastIndexOf(".");
  const extension = dot <= 0 ? "" : name.slice(dot + 1);
  return Object.hasOwn(byExtension, extension) ? byExtension[extension] : undefined;
}
