import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { runnerService } from "../../../workflows/runner-messages.ts";

// The wire form of an empty row takes two bytes, and the decoded row some hundred: a packed message of a few kilobytes would be
// gigabytes of objects, and decoding it would stop all other requests. So the fields of a message are counted before.

/** Fields that are decoded at once: some 50 ms. A report of a job with as many steps as it may have has fewer. */
const FIELDS_MAX = 100_000;
/** Rows of a log that are decoded at once. */
const ROWS_MAX = 10_000;
/** Rows of one message that are taken; its runner sends those that were not acknowledged again. */
const MESSAGE_ROWS_MAX = 500_000;

const { updateLog } = runnerService.method;
const ROWS = updateLog.input.field.rows.number;

/**
 * Returns whether a message has few enough fields to be decoded at once. An invalid one is left to the decoder, which comes no
 * further than this. @throws Error for a field that has another type on the wire: the decoder reads such a one in its own way
 */
export function isSmall(schema: DescMessage, bytes: Uint8Array): boolean {
  return unlessInvalid(() => countFields(schema, bytes, FIELDS_MAX) <= FIELDS_MAX, true);
}

/** Counts the fields of a message and of the messages in it, up to one more than `most`. */
function countFields(schema: DescMessage, bytes: Uint8Array, most: number): number {
  const reader = new BinaryReader(bytes);
  let count = 0;
  while (reader.pos < reader.len && count <= most) {
    const [number, wireType] = reader.tag();
    const field = findField(schema, number, wireType);
    count += 1;
    const inner =
      field?.fieldKind === "message" || field?.fieldKind === "list" ? field.message : undefined;
    if (inner === undefined) reader.skip(wireType, number);
    else count += countFields(inner, reader.bytes(), most - count);
  }
  return count;
}

/** Returns the field of a number; undefined for an unknown one, which the decoder skips. @throws OddMessage */
function findField(schema: DescMessage, number: number, wireType: WireType): DescField | undefined {
  const field = schema.fields.find((each) => each.number === number);
  const isNumber =
    field?.fieldKind === "enum" ||
    (field?.fieldKind === "scalar" &&
      ![ScalarType.STRING, ScalarType.BYTES].includes(field.scalar));
  if (field !== undefined && wireType !== (isNumber ? WireType.Varint : WireType.LengthDelimited))
    throw new OddMessage(`${field.name} has another type on the wire`);
  return field;
}

/** A message that no encoder writes. */
export class OddMessage extends Error {}

/** Values of a message of JSON that are decoded at once: some 50 ms. */
const VALUES_MAX = 50_000;

/** Returns whether a message of JSON has few enough values to be decoded at once. Its texts may be long. */
export function hasFewValues(bytes: Uint8Array): boolean {
  let values = 0;
  let isText = false;
  for (let at = 0; at < bytes.length && values <= VALUES_MAX; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText && byte === BACKSLASH) at += 1;
    else if (!isText && (byte === COMMA || byte === BRACE || byte === BRACKET)) values += 1;
  }
  return values <= VALUES_MAX;
}

const [QUOTE, BACKSLASH, COMMA, BRACE, BRACKET] = Buffer.from(String.raw`"\,{[`);

/** A part of a report of a log, which is decoded by itself. */
export interface LogPart {
  readonly bytes: Uint8Array;
  /** The rows that the log has when the part was taken; a smaller number ends the report. */
  readonly rowsAfter: number;
}

/**
 * Splits a report of a log with many rows, so that other requests come between its parts. Returns undefined for one that can be
 * decoded as it is, and for an invalid one. @throws Error as `isSmall`, and for rows that are not together, which no encoder writes
 */
export function splitLog(bytes: Uint8Array): readonly LogPart[] | undefined {
  return unlessInvalid(() => {
    const found = findRows(bytes);
    if (found.starts.length <= ROWS_MAX) return undefined;
    const { taskId, index, noMore } = fromBinary(updateLog.input, found.others);
    const parts: LogPart[] = [];
    for (let from = 0; from < found.starts.length; from += ROWS_MAX) {
      const to = Math.min(from + ROWS_MAX, found.starts.length);
      const isLast = to === found.starts.length && found.isWhole;
      const head = create(updateLog.input, {
        taskId,
        index: index + BigInt(from),
        noMore: noMore && isLast,
      });
      const rows = bytes.subarray(found.starts[from], found.starts[to] ?? found.end);
      parts.push({
        bytes: Buffer.concat([toBinary(updateLog.input, head), rows]),
        rowsAfter: Number(index) + to,
      });
    }
    return parts;
  }, undefined);
}

/** Finds the places of the rows of a report, and its other fields. */
function findRows(bytes: Uint8Array) {
  const reader = new BinaryReader(bytes);
  const starts: number[] = [];
  const others: Uint8Array[] = [];
  let end = 0;
  while (reader.pos < reader.len && starts.length < MESSAGE_ROWS_MAX) {
    const start = reader.pos;
    const [number, wireType] = reader.tag();
    findField(updateLog.input, number, wireType);
    reader.skip(wireType, number);
    if (number !== ROWS) others.push(bytes.subarray(start, reader.pos));
    else if (starts.length > 0 && start !== end) throw new OddMessage("the rows are not together");
    else {
      starts.push(start);
      end = reader.pos;
    }
    if (others.length > FIELDS_MAX) throw new OddMessage("the report has too many fields");
  }
  const isWhole = reader.pos === reader.len;
  return { starts, end, others: Buffer.concat(others), isWhole };
}

function unlessInvalid<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof OddMessage) throw error;
    // The decoder reports what is wrong with the message.
    return otherwise;
  }
}
