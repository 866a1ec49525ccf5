/** Decimals of a number without a pattern, as spreadsheets show them at most. */
const SIGNIFICANT_DIGITS = 15;

/**
 * Writes a number by the pattern of its cell where that adds what the number lacks: a percent sign, a currency or the zeros
 * and text of a code, such as a postal code (ECMA-376, 18.8.31). Other patterns only arrange digits; the number stays as it can be searched for.
 */
export function formatNumber(raw: string, pattern: string | undefined): string {
  const number = Number(raw);
  if (raw.trim() === "" || !Number.isFinite(number)) return raw;
  const plain = /\d{16}|e/i.test(raw)
    ? String(Number(number.toPrecision(SIGNIFICANT_DIGITS)))
    : raw;
  if (pattern === undefined) return plain;
  const sections = splitSections(pattern);
  const isNegative = number < 0;
  const section =
    (isNegative ? sections[1] : number === 0 ? sections[2] : undefined) ?? sections[0];
  if (section === undefined || !/[0#?]/.test(bare(section))) return plain;
  const sign = isNegative && (sections.length < 2 || sections[1] === "") ? "-" : "";
  if (isCode(section, number)) return sign + fillCode(section, Math.abs(number));
  if (!isMeaningful(section)) return plain;
  return sign + fill(section, Math.abs(number));
}

/** Splits a pattern at the semicolons that are not quoted. */
function splitSections(pattern: string): string[] {
  const sections = [""];
  for (const [token] of pattern.matchAll(TOKENS))
    if (token === ";") sections.push("");
    else sections[sections.length - 1] += token;
  return sections;
}

const TOKENS = /"[^"]*"?|\\.|\[[^\]]*\]?|[_*].|[\s\S]/gu;

/** The pattern without quoted and escaped text, colours, conditions and padding. */
function bare(section: string): string {
  return section.replace(/"[^"]*"?|\\.|\[[^\]]*\]?|[_*]./gu, "");
}

/** Whether a section shows a percentage or an amount of money, and no fraction or exponent. */
function isMeaningful(section: string): boolean {
  const digits = bare(section);
  if (/[0#?]\s*\/|E[+-]/i.test(digits)) return false;
  return (
    digits.includes("%") || /\[\$[^\]-]|\p{Sc}/u.test(section) || /"\s*[A-Z]{3}\s*"/.test(section)
  );
}

/** Whether a section shows a whole number as a code: with leading zeros, or with text before its digits or among them. */
function isCode(section: string, number: number): boolean {
  if (!Number.isSafeInteger(number) || !/^#*0+$/.test(bare(section).replace(/[\s()-]/g, "")))
    return false;
  return /0.*0/.test(section) || /(?:"[^"]+"|\\.).*[0#]/u.test(section);
}

/** Puts the digits of a code into their places, from the last one; those that are left go before the first place. */
function fillCode(section: string, number: number): string {
  const tokens = [...section.matchAll(TOKENS)].map(([token]) => token);
  const places = tokens.filter((token) => /^[0#]$/.test(token));
  const digits = String(number).padStart(places.join("").replace(/^#+/, "").length, "0");
  const extra = digits.length - places.length;
  let at = 0;
  const shown = tokens.map((token) => {
    if (!/^[0#]$/.test(token)) return toLiteral(token);
    const from = at + extra;
    at += 1;
    return at === 1 ? digits.slice(0, Math.max(0, from + 1)) : (digits[from] ?? "");
  });
  return shown.join("").trim();
}

/** What a token of a pattern that is no place for a digit shows. */
function toLiteral(token: string): string {
  if (token.startsWith('"')) return token.slice(1, token.endsWith('"') ? -1 : undefined);
  if (token.startsWith("\\")) return token.slice(1);
  if (token.startsWith("[$")) return token.slice(2).split(/[-\]]/)[0] ?? "";
  return token.startsWith("[") || /^[_*]./u.test(token) ? "" : token;
}

function fill(section: string, number: number): string {
  const digits = bare(section);
  const percents = digits.split("%").length - 1;
  const scaled = number * 100 ** percents;
  const [, decimals = ""] = /[0#?,]\.([0#?]*)/.exec(digits) ?? /\.([0#?]+)/.exec(digits) ?? [];
  const hasGroups = /[0#?],[0#?]/.test(digits);
  const thousands = /[0#?](,+)(?![0#?,])/.exec(digits)?.[1]?.length ?? 0;
  const text = (scaled / 1000 ** thousands).toFixed(Math.min(decimals.length, 20));
  const [whole = "", fraction = ""] = text.split(".");
  const needed = decimals.replace(/[#?]+$/, "").length;
  const shown = fraction.slice(0, Math.max(needed, fraction.replace(/0+$/, "").length));
  const grouped = hasGroups ? whole.replace(/\B(?=(?:\d{3})+$)/g, ",") : whole;
  const value = shown === "" ? grouped : `${grouped}.${shown}`;
  let isWritten = false;
  let written = "";
  for (const [token] of section.matchAll(TOKENS)) {
    if (/^[0#?.,]$/.test(token)) {
      if (!isWritten) written += value;
      isWritten = true;
    } else written += toLiteral(token);
  }
  return written.trim();
}
