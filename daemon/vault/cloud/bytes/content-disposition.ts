/**
 * The header of a download (RFC 8187): the whole name percent-encoded, so that no character of it can end the header
 * or the value.
 */
export function toContentDisposition(name: string): string {
  if (PLAIN.test(name)) return `attachment; filename*=UTF-8''${name}`;
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}

/** Names that stay as they are when they are encoded. */
const PLAIN = /^[\w.~-]+$/;
