import { escapeHtml } from "./escape.ts";

/** The aliases of pictures, with the letters and the colour of each badge. */
const badges: Readonly<Record<string, readonly [letters: string, colour: string]>> = {
  git: ["git", "#de4c36"],
  gitea: ["tea", "#5b8c1c"],
  codeberg: ["cb", "#2185d0"],
  gitlab: ["gl", "#c4481c"],
  github: ["gh", "#24292f"],
  gogs: ["gogs", "#a0522d"],
};

/** Returns whether a picture exists for an alias. */
export function isLogo(alias: string): boolean {
  return Object.hasOwn(badges, alias);
}

/** Returns the path of a picture below the instance's public address. */
export function toLogoPath(alias: string): string {
  return `assets/img/emoji/${alias}.png`;
}

/**
 * Returns a picture as SVG, undefined for an unknown file. The badges are croft's own, because logos are the property
 * of their projects. The reference's file names end in `.png`, but browsers use the content type.
 */
export function findLogo(file: string): string | undefined {
  const alias = /^(\w+)\.png$/.exec(file)?.[1] ?? "";
  const badge = isLogo(alias) ? badges[alias] : undefined;
  if (badge === undefined) return undefined;
  const [letters, colour] = badge;
  const size = letters.length > 3 ? 22 : 28;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="64" height="64">` +
    `<rect x="2" y="2" width="60" height="60" rx="14" fill="${colour}"/>` +
    `<text x="32" y="${32 + size / 3}" font-family="sans-serif" font-size="${size}" font-weight="700" ` +
    `text-anchor="middle" fill="#fff">${escapeHtml(letters)}</text></svg>`
  );
}
