// Types of a package without its own: the part that api-viewer.ts uses.

declare module "swagger-ui-dist/absolute-path.js" {
  /** Returns the folder of the package. */
  export default function absolutePath(): string;
}
