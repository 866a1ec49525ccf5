// Types of modules without their own: the parts that croft uses.

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

  /** A decoded picture of Leptonica. */
  export interface Pix {
    get_w(): number;
    get_h(): number;
    /** Bits of a pixel. */
    get_d(): number;
    /** Samples of a pixel: 4 with transparency. */
    get_spp(): number;
    /** 32-bit words of a row. */
    get_wpl(): number;
    get_colormap(): object;
  }

  /** Numbers are addresses in the memory of the module. */
  export interface TesseractModule {
    readonly TessBaseAPI: new () => TessBaseApi;
    readonly FS: { writeFile(path: string, bytes: Uint8Array): void; unlink(path: string): void };
    readonly Pix: new () => Pix;
    _malloc(bytes: number): number;
    _free(address: number): void;
    /** Decodes a file in memory; 0 when it is damaged. */
    _pixReadMem(address: number, bytes: number): number;
    _emscripten_bind_Pix_get_data_0(pix: number): number;
    _emscripten_bind_PixColormap_get_array_0(colormap: number): number;
    _emscripten_bind_PixColormap_get_n_0(colormap: number): number;
    wrapPointer(address: number, type: new () => Pix): Pix;
    getPointer(object: object): number;
  }

  export default function createModule(options: {
    readonly print: (line: string) => void;
    readonly printErr: (line: string) => void;
    readonly instantiateWasm?: (
      imports: WebAssembly.Imports,
      done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
    ) => WebAssembly.Exports;
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

/** The functions of PDFium that croft calls. Numbers are addresses in the memory of the module. */
declare module "@embedpdf/pdfium" {
  export function init(options: { readonly wasmBinary: ArrayBuffer }): Promise<Pdfium>;

  export interface Pdfium {
    readonly pdfium: {
      readonly wasmExports: { malloc(bytes: number): number };
      /** Another one after the memory has grown. */
      readonly HEAPU8: Uint8Array;
    };
    PDFiumExt_Init(): void;
    /** Opens a file; 0 when it cannot. */
    FPDF_LoadMemDocument(address: number, bytes: number, password: string): number;
    FPDF_GetLastError(): number;
    FPDF_LoadPage(document: number, index: number): number;
    /** In points. */
    FPDF_GetPageWidthF(page: number): number;
    FPDF_GetPageHeightF(page: number): number;
    FPDFBitmap_Create(width: number, height: number, hasAlpha: number): number;
    FPDFBitmap_FillRect(
      bitmap: number,
      left: number,
      top: number,
      width: number,
      height: number,
      color: number,
    ): void;
    FPDF_RenderPageBitmap(
      bitmap: number,
      page: number,
      left: number,
      top: number,
      width: number,
      height: number,
      quarterTurns: number,
      flags: number,
    ): void;
    FPDFBitmap_GetBuffer(bitmap: number): number;
    FPDFBitmap_GetStride(bitmap: number): number;
  }
}
