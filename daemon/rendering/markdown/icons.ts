import type { DialectEnv } from "./dialect.ts";

const shapes = {
  "octicon-info":
    "M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm0 1.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM7.25 7h1.5v4.5h-1.5ZM7.25 4.5h1.5V6h-1.5Z",
  "octicon-light-bulb":
    "M8 1a5 5 0 0 1 3 9v1.5H5V10a5 5 0 0 1 3-9Zm0 1.5a3.5 3.5 0 0 0-1.5 6.7V10h3v-.8A3.5 3.5 0 0 0 8 2.5ZM5 12.5h6V14H5Z",
  "octicon-report": "M2 2h12v10H7l-3 3v-3H2Zm1.5 1.5v7h9v-7Zm3.75 1h1.5v3h-1.5Zm0 4h1.5V10h-1.5Z",
  "octicon-alert": "M8 1.5 15 14H1Zm0 3L3.5 12.5h9ZM7.25 7h1.5v3h-1.5Zm0 3.75h1.5v1.25h-1.5Z",
  "octicon-stop":
    "M5 1h6l4 4v6l-4 4H5l-4-4V5Zm.6 1.5L2.5 5.6v4.8l3.1 3.1h4.8l3.1-3.1V5.6l-3.1-3.1Zm1.65 2h1.5v4h-1.5Zm0 5.25h1.5v1.5h-1.5Z",
  "octicon-table-of-contents": "M1 2h14v12H1Zm1.5 1.5v2h11v-2Zm0 3.5v5.5H6V7Zm5 0v5.5h6V7Z",
} as const;

/** Returns a 16 px icon as SVG: croft's own drawing under the reference's class name. */
export function toIcon(
  { className }: Pick<DialectEnv, "className">,
  name: keyof typeof shapes,
  classes: string,
): string {
  return `<svg ${className(`${classes} ${name}`.trim())} viewbox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="${shapes[name]}"></path></svg>`;
}
