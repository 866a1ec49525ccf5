// The reference of the APIs in a browser, at /docs: Swagger UI on the OpenAPI documents of this server.
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import folderOfViewer from "swagger-ui-dist/absolute-path.js";
import { writeAnswer } from "./replies.ts";

/** An API whose reference is shown. */
export interface ViewedApi {
  /** The last segment of its page: `/docs/forge`. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The address of its OpenAPI document. */
  readonly document: string;
}

/** Nothing but files and requests of this server. Swagger UI writes a few styles into its elements. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE_HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-cache",
  "Content-Security-Policy": POLICY,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
} as const;

const SCRIPT = `const { document: url } = document.getElementById("viewer").dataset;
document.documentElement.classList.toggle("dark-mode", matchMedia("(prefers-color-scheme: dark)").matches);
SwaggerUIBundle({
  url,
  dom_id: "#viewer",
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
  // A sign-in of the pages must not act for what is tried out here.
  withCredentials: false,
  requestInterceptor: (request) => Object.assign(request, { credentials: "omit" }),
});
`;

const STYLE = `body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; color-scheme: light dark; }
header { padding: .5rem 1rem; border-bottom: 1px solid light-dark(#d5d9de, #363c43); }
header a { margin-right: 1rem; color: light-dark(#0a56b5, #7db6ff); }
main { padding: 1rem; }
`;

/** The files of the pages that are croft's own; the others are Swagger UI's. */
const OWN_FILES: Readonly<Record<string, string>> = { "viewer.js": SCRIPT, "viewer.css": STYLE };

/** Answers `GET /docs`, the list of all references. Links are relative, as a proxy may add a path of its own before them. */
export function answerIndex(apis: readonly ViewedApi[], response: ServerResponse): void {
  writeAnswer(response, 200, PAGE_HEADERS, toIndex(apis), "");
}

/** Answers `GET /docs/NAME`, the reference of one API. */
export function answerViewer(
  shown: ViewedApi,
  apis: readonly ViewedApi[],
  response: ServerResponse,
): void {
  writeAnswer(response, 200, PAGE_HEADERS, toViewer(shown, apis), "");
}

/** Answers `GET /docs/FILE`, a script or style sheet of the pages. */
export async function answerFile(name: string, response: ServerResponse): Promise<void> {
  const type = name.endsWith(".js") ? "text/javascript" : "text/css";
  const body = OWN_FILES[name] ?? (await readFile(join(folderOfViewer(), name), "utf8"));
  writeAnswer(response, 200, toHeaders(type), body, "");
}

function toIndex(apis: readonly ViewedApi[]): string {
  const items = apis.map(
    ({ name, title, description, document }) =>
      `<li><a href="docs/${name}">${title}</a> (<a href="${document.slice(1)}">OpenAPI</a>): ${description}</li>`,
  );
  const list = `<ul>${items.join("\n")}</ul>`;
  const text = "Requests that are tried out there go to this server, and change what they say.";
  return toPage(
    "APIs of croft",
    "docs/",
    `<main><h1>APIs of croft</h1>${list}<p>${text}</p></main>`,
  );
}

function toViewer(shown: ViewedApi, apis: readonly ViewedApi[]): string {
  const links = apis.map(({ name, title }) => {
    const current = name === shown.name ? ' aria-current="page"' : "";
    return `<a href="${name}"${current}>${title}</a>`;
  });
  const document = `..${shown.document}`;
  const without = `This page needs JavaScript. The description itself is at <a href="${document}">${shown.document}</a>.`;
  return toPage(
    shown.title,
    "",
    `<header><nav aria-label="APIs">${links.join("")}</nav></header>
<main id="viewer" data-document="${document}"><noscript>${without}</noscript></main>
<script src="swagger-ui-bundle.js"></script>
<script src="viewer.js"></script>`,
  );
}

function toPage(title: string, folder: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}swagger-ui.css">
<link rel="stylesheet" href="${folder}viewer.css">
</head>
<body>
${body}
</body>
</html>
`;
}

function toHeaders(type: string): Readonly<Record<string, string>> {
  return {
    "Content-Type": `${type}; charset=utf-8`,
    // The files change with croft only.
    "Cache-Control": "public, max-age=3600",
    "X-Content-Type-Options": "nosniff",
  };
}
