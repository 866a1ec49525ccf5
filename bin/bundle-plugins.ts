import { stat } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join, relative } from "node:path";
import type { Plugin } from "rolldown";
import { parseSync, Visitor } from "rolldown/utils";
import { toSlashes } from "./paths.ts";

/** A `new URL("./literal", import.meta.url)` in a source text. */
interface Address {
  readonly start: number;
  readonly end: number;
  readonly target: string;
}

/** Ink imports this development tool only with DEV=true in its environment; it is not installed. */
export function omitDevtools(): Plugin {
  return {
    name: "croft:omit-devtools",
    resolveId: { filter: { id: /^react-devtools-core$/ }, handler: (id) => `\0${id}` },
    load: { filter: { id: /^\0react-devtools-core$/ }, handler: () => "export default undefined;" },
  };
}

/**
 * Adds the paths (from `root`) of the files and folders that the code names beside itself to `dataFiles`, bundles the
 * scripts named that way as entries of worker threads, and rewrites the addresses to the new places of both: all chunks
 * are in one folder, which represents the root. Fails on any other use of `import.meta`.
 */
export function locateFiles(root: string, dataFiles: Set<string>): Plugin {
  return {
    name: "croft:locate-files",
    transform: {
      filter: { id: { include: /\.tsx?$/, exclude: /node_modules/ }, code: /import\.meta/ },
      async handler(code, id) {
        const { addresses, importMetas } = findAddresses(id, code);
        if (importMetas > addresses.length) {
          this.error(
            `${relative(root, id)}: import.meta is of use only as new URL("./literal", import.meta.url)`,
          );
        }
        let result = code;
        for (const { start, end, target } of addresses.toReversed()) {
          const path = toSlashes(relative(root, join(dirname(id), target)));
          const placed = /\.tsx?$/.test(target) ? toWorkerName(path) : path;
          if (placed === path) {
            await stat(join(root, path));
            dataFiles.add(path);
          } else {
            this.emitFile({ type: "chunk", id: join(root, path), fileName: placed });
          }
          const ending = target.endsWith("/") ? "/" : "";
          result = `${result.slice(0, start)}new URL("./${placed}${ending}", import.meta.url)${result.slice(end)}`;
        }
        return result;
      },
    },
  };
}

function findAddresses(id: string, code: string): { addresses: Address[]; importMetas: number } {
  const { program, module } = parseSync(id, code);
  const addresses: Address[] = [];
  new Visitor({
    NewExpression({ callee, arguments: [target, base], start, end }) {
      const isUrl = callee.type === "Identifier" && callee.name === "URL";
      const isHere = base?.type === "MemberExpression" && base.object.type === "MetaProperty";
      if (!isUrl || !isHere || target?.type !== "Literal") return;
      if (typeof target.value !== "string" || !target.value.startsWith(".")) return;
      addresses.push({ start, end, target: target.value });
    },
  }).visit(program);
  return { addresses, importMetas: module.importMetas.length };
}

/** The script's path without folders, as worker entries lie beside the chunks. */
function toWorkerName(path: string): string {
  return `${path.replaceAll("/", "-").replace(/\.tsx?$/, "")}.js`;
}

/**
 * Turns `import { a } from "node:b"` into a read of just `a`. As an import, Node would read everything that the module
 * exports, and some of that is made when it is read: `node:http` costs 40 ms that way, of which `fetch` takes most, and
 * `node:tls` 20 ms.
 */
export function takeBuiltins(): Plugin {
  return {
    name: "croft:take-builtins",
    renderChunk(code, chunk) {
      const { program } = parseSync(chunk.fileName, code);
      const imports = program.body.filter((node) => node.type === "ImportDeclaration");
      let result = code;
      for (const { start, end, source, specifiers } of imports.toReversed()) {
        if (!isBuiltin(source.value)) continue;
        const module = `globalThis.process.getBuiltinModule(${JSON.stringify(source.value)})`;
        const reads = specifiers.map(({ local, ...specifier }) => {
          if (!("imported" in specifier) || toName(specifier.imported) === "default")
            return `${local.name} = ${module}`;
          return `${local.name} = ${module}[${JSON.stringify(toName(specifier.imported))}]`;
        });
        // `var`, because another chunk may call functions of this chunk before this line runs.
        const statement = reads.length === 0 ? "" : `var ${reads.join(", ")};`;
        result = result.slice(0, start) + statement + result.slice(end);
      }
      return result;
    },
  };
}

function toName(name: { type: string; name?: string; value?: string }): string | undefined {
  return name.name ?? name.value;
}

/** Characters beyond ASCII, with the backslashes before them. */
const NON_ASCII = /(\\*)([^\0-\x7f])/g;

/**
 * Writes characters beyond ASCII as escapes, except in tagged templates, whose tag sees the text as it is written. Node keeps
 * the source of a file with one such character at two bytes a character, which makes an idle daemon 4 MiB larger.
 */
export function escapeNonAscii(): Plugin {
  return {
    name: "croft:escape-non-ascii",
    // The minifier, which runs before this hook, writes escapes as characters.
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle))
        if (chunk.type === "chunk") chunk.code = escapeCode(chunk.fileName, chunk.code);
    },
  };
}

function escapeCode(fileName: string, code: string): string {
  if (code.search(NON_ASCII) === -1) return code;
  const tagged: { start: number; end: number }[] = [];
  new Visitor({
    TaggedTemplateExpression: ({ quasi }) => void tagged.push(...quasi.quasis),
  }).visit(parseSync(fileName, code).program);
  let result = "";
  let at = 0;
  for (const { start, end } of tagged.toSorted((a, b) => a.start - b.start)) {
    result += escapeText(code.slice(at, start)) + code.slice(start, end);
    at = end;
  }
  return result + escapeText(code.slice(at));
}

function escapeText(text: string): string {
  return text.replace(NON_ASCII, (_match, backslashes: string, character: string) => {
    // The last of an odd number of backslashes already escapes the character.
    const others = backslashes.slice(backslashes.length % 2);
    return `${others}\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
