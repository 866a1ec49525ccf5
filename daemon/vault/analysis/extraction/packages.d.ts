// Types of modules without their own: the parts that ocr.ts and pdf-js.ts use.

declare module "tesseract.js-core/tesseract-core-simd-lstm.js" {
  /** Tesseract's C++ interface; results of 0 mean success. */
  export interface TessBaseApi {
    Init(dataFolder: string, language: string, engineMode: number): number;
    /** Reads `/input` of the module's file system. `orientation` is that of Exif, 1 to 8; `angle` is in radians. */
    SetImageFile(orientation: number, angle: number): number;
    Recognize(monitor: null): number;
    GetTSVText(page: number): string;
    Clear(): void;
    End(): void;
  }

  export interface TesseractModule {
    readonly TessBaseAPI: new () => TessBaseApi;
    readonly FS: { writeFile(path: string, bytes: Uint8Array): void; unlink(path: string): void };
  }

  export default function createModule(options: {
    readonly print: (line: string) => void;
    readonly printErr: (line: string) => void;
  }): Promise<TesseractModule>;
}

declare module "@tesseract.js-data/eng" {
  const data: { readonly langPath: string };
  export default data;
}

/** The minified files of pdf.js, whose declarations the package has under other names only. */
declare module "pdfjs-dist/legacy/build/pdf.min.mjs" {
  export * from "pdfjs-dist";
}
declare module "pdfjs-dist/legacy/build/pdf.worker.min.mjs";
