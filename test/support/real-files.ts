/** A whole one-page PDF with a line of text, made by hand. */
export const PDF = Buffer.from(
  [
    "%PDF-1.4",
    "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj",
    "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj",
    "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 80]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj",
    "4 0 obj<</Length 44>>stream",
    "BT /F1 18 Tf 20 30 Td (Hello from croft) Tj ET",
    "endstream endobj",
    "5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj",
    "trailer<</Root 1 0 R>>",
    "%%EOF",
    "",
  ].join("\n"),
);

/** The smallest JPEG that decoders accept: one grey pixel. */
export const JPEG = Buffer.from(
  "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////" +
    "wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=",
  "base64",
);

/** A page of `pdfOf` with a line of text. */
export const textPage = (text: string) => `BT /F1 18 Tf 20 30 Td (${text}) Tj ET`;
/** A page of `pdfOf` with 100,000 characters. */
export const FULL_PAGE = `BT /F1 1 Tf ${Array.from(
  { length: 1_000 },
  (_, line) => `1 0 0 1 5 ${line % 80} Tm (${"w".repeat(100)}) Tj`,
).join("\n")} ET`;
/** A page of `pdfOf` with a picture, as a scanner makes it. */
export const PICTURE_PAGE = "q 200 0 0 80 0 0 cm BI /W 8 /H 1 /BPC 1 /CS /G ID \u007f EI Q";

const PAGES_PER_NODE = 100;

/** Makes a PDF of pages, each given by its operators, in a tree as programs write it. */
export function pdfOf(pages: readonly string[]): Buffer<ArrayBuffer> {
  const nodes = Math.ceil(pages.length / PAGES_PER_NODE);
  const firstPage = 4 + nodes;
  const refs = (from: number, count: number, step = 1) =>
    Array.from({ length: count }, (_, index) => `${from + index * step} 0 R`).join(" ");
  const lines = ["%PDF-1.4", "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj"];
  lines.push(`2 0 obj<</Type/Pages/Kids[${refs(4, nodes)}]/Count ${pages.length}>>endobj`);
  lines.push("3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj");
  for (let node = 0; node < nodes; node += 1) {
    const before = node * PAGES_PER_NODE;
    const count = Math.min(PAGES_PER_NODE, pages.length - before);
    const kids = refs(firstPage + 2 * before, count, 2);
    lines.push(`${4 + node} 0 obj<</Type/Pages/Parent 2 0 R/Kids[${kids}]/Count ${count}>>endobj`);
  }
  for (const [index, operators] of pages.entries()) {
    const id = firstPage + 2 * index;
    const parent = 4 + Math.floor(index / PAGES_PER_NODE);
    lines.push(
      `${id} 0 obj<</Type/Page/Parent ${parent} 0 R/MediaBox[0 0 200 80]/Contents ${id + 1} 0 R` +
        "/Resources<</Font<</F1 3 0 R>>>>>>endobj",
      `${id + 1} 0 obj<</Length ${operators.length}>>stream`,
      operators,
      "endstream endobj",
    );
  }
  return Buffer.from([...lines, "trailer<</Root 1 0 R>>", "%%EOF", ""].join("\n"), "latin1");
}
