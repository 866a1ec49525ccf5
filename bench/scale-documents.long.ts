// The benchmark of documents with 1,000,000 of them; CROFT_BENCH_PART=0.1 takes a tenth.
const PART = Number(process.env["CROFT_BENCH_PART"] ?? 1);
process.env["CROFT_BENCH_DOCUMENTS"] = String(1_000_000 * PART);
await import("./documents.bench.ts");
export {};
