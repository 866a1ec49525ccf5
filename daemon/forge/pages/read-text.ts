import type { AnyEndpoint } from "../../contract/endpoint.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import type { CallOperation, OperationInput } from "./operations.ts";

/** Reads the beginning of an operation's bytes as UTF-8. */
export async function readText(
  call: CallOperation,
  declared: AnyEndpoint,
  input: OperationInput,
  bytesMax: number,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const { bytes: source } = (await call(declared, input)) as unknown as BytesAnswer;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const stream = await source.open();
    // Leaving the loop early destroys the stream, which stops git.
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > bytesMax) break;
    }
  } finally {
    source.release?.();
  }
  const text = Buffer.concat(chunks).subarray(0, bytesMax).toString("utf8");
  return { text, isWhole: size <= bytesMax };
}
