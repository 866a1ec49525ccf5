import { Document, isScalar, Scalar, visit } from "yaml";
import { unsafeInJson } from "./sanitize.ts";

/** Returns `value` as YAML; control and format characters are escapes in double-quoted scalars. */
export function toYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      if (isScalar(node) && typeof node.value === "string" && node.value.search(unsafeInJson) >= 0)
        node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0 }).replace(unsafeInJson, toYamlEscape);
}

/** YAML has no surrogate pairs: a code point beyond U+FFFF is one `\U` escape. */
function toYamlEscape(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
}
