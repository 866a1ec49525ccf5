import { gemoji } from "gemoji";
import { escapeHtml } from "./escape.ts";
import { isLogo, toLogoPath } from "./logos.ts";

export interface Emoji {
  /** Returns text as HTML with emoji characters and `:alias:` codes marked up; undefined for text without any. */
  markUp(text: string): string | undefined;
}

/**
 * Indexes the gemoji data set and returns a function that creates the markup for one instance. `className` returns the
 * class attribute of the marks; `root` is the instance's public address with a trailing slash.
 */
export function createEmoji(className: (name: string) => string): (root: string) => Emoji {
  const aliases = new Map<string, { readonly character: string; readonly description: string }>();
  const byFirst = new Map<string, { readonly character: string; readonly description: string }[]>();
  for (const { emoji: character, names, description } of gemoji.flatMap(withSkinTones)) {
    const entry = { character, description };
    for (const name of names) aliases.set(name, entry);
    const first =
      character.charAt(0) + (isHighSurrogate(character.charCodeAt(0)) ? character.charAt(1) : "");
    byFirst.set(first, [...(byFirst.get(first) ?? []), entry]);
  }
  for (const entries of byFirst.values())
    entries.sort((one, other) => other.character.length - one.character.length);

  const mark = (label: string, content: string) =>
    `<span ${className("emoji")} aria-label="${escapeHtml(label)}">${content}</span>`;
  const fromAlias = (alias: string, root: string): string | undefined => {
    if (isLogo(alias))
      return mark(
        alias,
        `<img alt=":${alias}:" src="${escapeHtml(new URL(root).pathname + toLogoPath(alias))}">`,
      );
    const known = aliases.get(alias);
    return known && mark(known.description, known.character);
  };

  return (root) => ({
    markUp(text) {
      if (!mayHaveEmoji.test(text)) return undefined;
      let out = "";
      let end = 0;
      const candidates = new RegExp(candidate);
      for (let found = candidates.exec(text); found !== null; found = candidates.exec(text)) {
        const [source, alias] = found;
        // `std::thread::sleep` has no alias, `:a::b:` may have two.
        const isAfterColon =
          alias !== undefined && text.charAt(found.index - 1) === ":" && found.index !== end;
        if (isAfterColon) {
          candidates.lastIndex -= 1;
          continue;
        }
        const entry =
          alias === undefined
            ? byFirst
                .get(source)
                ?.find(({ character }) => text.startsWith(character, found?.index ?? 0))
            : undefined;
        const html =
          alias === undefined
            ? entry && mark(entry.description, entry.character)
            : fromAlias(alias, root);
        if (html === undefined) {
          // The closing colon of an unknown alias may open the next one.
          if (alias !== undefined) candidates.lastIndex -= 1;
          continue;
        }
        out += escapeHtml(text.slice(end, found.index)) + html;
        end = found.index + (entry?.character.length ?? source.length);
        candidates.lastIndex = end;
      }
      return end === 0 ? undefined : out + escapeHtml(text.slice(end));
    },
  });
}

type Known = Pick<(typeof gemoji)[number], "emoji" | "names" | "description">;

/** Returns an emoji with its skin tones, if it has any, under Gitea's aliases. */
function withSkinTones({ emoji, names, description }: Known): Known[] {
  const plain = { emoji, names, description };
  const [first = ""] = emoji;
  if (!/^\p{Emoji_Modifier_Base}/u.test(first)) return [plain];
  const rest = emoji.slice(first.length).replace(/^\uFE0F/, "");
  const toned = skinTones.map(([tone, modifier]) => ({
    emoji: `${first}${modifier}${rest}`,
    names: names.slice(0, 1).map((name) => `${name}_${tone.replaceAll(" ", "_")}`),
    description: `${description}: ${tone}`,
  }));
  return [plain, ...toned];
}

const skinTones = [
  ["Light Skin Tone", "\u{1F3FB}"],
  ["Medium-Light Skin Tone", "\u{1F3FC}"],
  ["Medium Skin Tone", "\u{1F3FD}"],
  ["Medium-Dark Skin Tone", "\u{1F3FE}"],
  ["Dark Skin Tone", "\u{1F3FF}"],
] as const;

const mayHaveEmoji = /:[-+\w]{1,64}:|[\xA9\xAE\u203C-\u3299\uD83C-\uD83E]|[#*0-9]\uFE0F?\u20E3/;

const candidate =
  /(?<![A-Za-z0-9`]):([-+\w]{1,64}):(?![A-Za-z0-9])|[\uD83C-\uD83E][\uDC00-\uDFFF]|[\xA9\xAE\u203C-\u3299]|[#*0-9](?=\uFE0F?\u20E3)/g;

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
