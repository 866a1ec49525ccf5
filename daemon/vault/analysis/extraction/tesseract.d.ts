// Types of two packages without their own: the part that ocr.ts uses.

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
