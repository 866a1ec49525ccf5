import { StringDecoder } from "node:string_decoder";

/** Turns the output of a process into lines. */
export interface LineSplitter {
  push(chunk: Uint8Array): void;
  /** Passes on a last line without a line end. */
  end(): void;
}

/**
 * Splits a stream into lines without line ends. Keeps the first `keep()` characters of a long line and counts the rest,
 * so that memory is bounded.
 */
export function createLineSplitter(
  keep: () => number,
  onLine: (line: string, dropped: number) => void,
): LineSplitter {
  const decoder = new StringDecoder("utf8");
  let line = "";
  let dropped = 0;
  let hasLine = false;

  const append = (text: string) => {
    if (text === "") return;
    hasLine = true;
    const room = Math.max(0, keep() - line.length);
    line += text.slice(0, room);
    dropped += Math.max(0, text.length - room);
  };
  const flush = () => {
    onLine(line.endsWith("\r") ? line.slice(0, -1) : line, dropped);
    line = "";
    dropped = 0;
    hasLine = false;
  };
  const add = (text: string) => {
    let at = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", at)) {
      append(text.slice(at, end));
      flush();
      at = end + 1;
    }
    append(text.slice(at));
  };
  return {
    push: (chunk) => add(decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))),
    end() {
      add(decoder.end());
      if (hasLine) flush();
    },
  };
}
