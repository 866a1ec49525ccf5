import stringWidth from "string-width";
import type { Style } from "../../io.ts";
import { toAgo, toSizeText, toShortAge } from "../../output/cells.ts";
import { toBar } from "../../output/progress.ts";
import { toScreenLine } from "../../output/sanitize.ts";
import { cutEnd, padEnd, padStart } from "../../output/width.ts";
import type { WireConnection } from "../../support/connection.ts";
import { toAddressText, type WireItem } from "../../support/items.ts";
import {
  bodyHeight,
  drawFrame,
  drawPhase,
  drawSideBySide,
  innerWidth,
  type Message,
  type KeyHint,
  type Question,
  splitOf,
  type Surroundings,
  createHelp,
} from "../frame.ts";
import { type LoadState, type Phase, phaseOf } from "../load.ts";
import type { ListWindow } from "../scrolling.ts";
import type { Size } from "../screen.tsx";
import type { FolderView, Place } from "./folder-view.ts";
import { phaseOfPreview, type Preview, toPreviewLines } from "./preview.ts";
import type { Transfer } from "./transfers.ts";

/** Everything that decides how the browser looks. */
export interface BrowseState {
  readonly connections: readonly WireConnection[];
  /** Of the folder, or of the connections. */
  readonly load: LoadState;
  /** Undefined in the list of connections. */
  readonly folder: FolderView | undefined;
  readonly rows: readonly WireItem[];
  readonly window: ListWindow;
  readonly selected: ReadonlySet<string>;
  /** The number of items to move. */
  readonly picked: number;
  readonly words: string;
  readonly transfers: readonly Transfer[];
  readonly message: Message | undefined;
  readonly question: Question | undefined;
  readonly preview: Preview | undefined;
  readonly helpTop: number | undefined;
}

const folderHints: readonly KeyHint[] = [
  ["Enter", "open", "row"],
  ["←", "up"],
  ["d", "save", "change"],
  ["u", "upload", "list"],
  ["n", "new", "list"],
  ["r", "rename", "change"],
  ["m", "move", "change"],
  ["x", "delete", "change"],
  ["/", "search", "list"],
  ["?", "keys"],
  ["q", "leave"],
];
const connectionHints: readonly KeyHint[] = [
  ["Enter", "open", "row"],
  ["/", "search", "list"],
  ["R", "load again", "list"],
  ["?", "keys"],
  ["q", "leave"],
];
const previewHints: readonly KeyHint[] = [
  ["↑↓", "scroll", "row"],
  ["d", "save", "change"],
  ["?", "keys"],
  ["q", "back"],
];
/** The keys and their actions. */
export const help = createHelp("Items: keys", [
  ["↑ ↓  k j", "move by one item"],
  ["PgUp PgDn", "move by one page"],
  ["g G", "go to the first or last loaded item"],
  ["Enter  →", "open a folder, preview a file"],
  ["←  h", "go to the folder above"],
  ["Space", "select; d, m and x then apply to all selected items"],
  ["d", "download to the current folder"],
  ["u", "upload a file; Tab completes its path"],
  ["n", "create a folder"],
  ["r", "rename"],
  ["m", "cut; m in another folder moves the items there"],
  ["x  Del", "delete"],
  ["/", "search documents and analysed items"],
  ["f", "filter by name"],
  ["R  Ctrl-R", "list the folder again from the storage"],
  ["c", "cancel the transfers"],
  ["Esc", "cancel the move, selection or filter; then go up"],
  ["q", "leave"],
]);

/** The phase of the list. What a filter hides is there nevertheless. */
function phaseOfList({ folder, connections, load }: BrowseState): Phase {
  return phaseOf(load, folder === undefined ? connections.length : folder.items.length);
}

function surroundingsOf(state: BrowseState, size: Size): Surroundings {
  const { preview, helpTop, message } = state;
  if (helpTop !== undefined) return {};
  if (preview !== undefined) return { phase: phaseOfPreview(preview), message };
  return {
    phase: phaseOfList(state),
    warning: warningOf(state),
    message,
    panel: Array.from({ length: panelRows(state, size) }, () => ""),
  };
}

/** Rows that the list, or the text of a file, has on a screen of this size. */
export function listHeight(state: BrowseState, size: Size): number {
  const isOther = state.helpTop !== undefined || state.preview !== undefined;
  const rows = bodyHeight(size, surroundingsOf(state, size));
  const hasList = !isOther || splitOf(size) !== undefined;
  return Math.max(1, rows - (hasList ? headRows(state, size) : 0));
}

/** Rows that the text of a file has on a screen of this size. */
export function textHeight(state: BrowseState, size: Size): number {
  return bodyHeight(size, surroundingsOf(state, size));
}

/** The whole screen. `now` is in epoch milliseconds. */
export function drawBrowse(
  state: BrowseState,
  size: Size,
  style: Style,
  now: number,
): readonly string[] {
  const { helpTop, preview, message, question, folder } = state;
  const common = { question, message };
  if (helpTop !== undefined) return help.draw(helpTop, size, style);
  if (preview !== undefined)
    return drawFrame(
      {
        ...common,
        title: addressOf(preview.place, preview.item.name),
        isPath: true,
        aside: sizeOf(preview.item),
        phase: phaseOfPreview(preview),
        body: drawPreview(state, preview, size, style, now),
        status: "",
        hints: previewHints,
      },
      size,
      style,
    );
  return drawFrame(
    {
      ...common,
      title: folder === undefined ? "Your storages" : addressOf(folder.place),
      isPath: true,
      aside: asideOf(state, now),
      phase: phaseOfList(state),
      warning: warningOf(state),
      body:
        folder === undefined
          ? drawConnections(state, size, style)
          : drawFolder(state, folder, { size, height: listHeight(state, size) }, style, now),
      panel: drawTransfers(state, size, style, now),
      status: statusLine(state, now),
      hints: folder === undefined ? connectionHints : folderHints,
    },
    size,
    style,
  );
}

/** Draws the preview; on a wide screen beside its folder. */
function drawPreview(
  state: BrowseState,
  preview: Preview,
  size: Size,
  style: Style,
  now: number,
): readonly string[] {
  const lines = preview.lines?.text ?? toPreviewLines(preview, size, style, now);
  const text = lines.slice(preview.top);
  const split = splitOf(size);
  if (split === undefined || state.folder === undefined) return text;
  const height = listHeight(state, size);
  return drawSideBySide(
    drawFolder(state, state.folder, { size: split.list, height }, style, now),
    text,
    split,
    style,
  );
}

function addressOf({ connection, path }: Place, name?: string): string {
  return toAddressText(connection.display_name, name === undefined ? path : [...path, name]);
}

function asideOf({ folder }: BrowseState, now: number): string {
  if (folder === undefined) return "";
  if (folder.isLoading) return "loading…";
  const listedAt = folder.state?.listed_at;
  return listedAt === undefined || listedAt === null ? "" : `listed ${toAgo(listedAt, now)}`;
}

/** A remark on the shown folder: its listing is stale, or names are filtered. */
function warningOf({ folder, words }: BrowseState): string | undefined {
  if (folder === undefined || folder.failure !== undefined) return undefined;
  if (folder.state?.refresh_state === "warning")
    return `${folder.state.error_message ?? "This list may be out of date."} R lists it again`;
  return words === "" ? undefined : `names with "${words}"; Esc shows all`;
}

function statusLine({ folder, rows, window, selected, picked }: BrowseState, now: number): string {
  if (picked > 0)
    return `${picked === 1 ? "1 item" : `${picked} items`} picked up: m puts it here, Esc leaves it`;
  if (selected.size > 0) return `${selected.size} selected`;
  const item = rows[window.cursor];
  if (folder === undefined || item === undefined) return "";
  const details = [
    item.kind === "folder" ? "folder" : (item.content_type ?? "file"),
    item.size === null ? "" : `${item.size} ${item.size === 1 ? "byte" : "bytes"}`,
    item.modified_at === null ? "" : `changed ${toAgo(item.modified_at, now)}`,
  ].filter((detail) => detail !== "");
  const count = `${window.cursor + 1} of ${rows.length}${folder.hasMore ? "+" : ""}`;
  return `${count}  ${details.join(", ")}`;
}

/** A line that names the columns, where there is room for it. */
function headRows({ folder, rows }: BrowseState, { rows: height }: Size): number {
  return folder !== undefined && rows.length > 0 && height >= 16 ? 1 : 0;
}

function drawConnections(state: BrowseState, size: Size, style: Style): readonly string[] {
  const empty = ['No storage is connected: "croft vault connection add" connects one.'];
  const rows = () => drawConnectionRows(state, size, style);
  return drawPhase(phaseOfList(state), { rows, empty }, size, style);
}

function drawConnectionRows(
  { connections, window }: BrowseState,
  size: Size,
  style: Style,
): readonly string[] {
  const width = innerWidth(size);
  const nameWidth = Math.min(
    Math.max(...connections.map(({ display_name: name }) => stringWidth(name))),
    Math.floor(width / 2),
  );
  return connections.slice(window.top).map((connection, index) => {
    const isCurrent = window.top + index === window.cursor;
    const name = padEnd(cutEnd(toScreenLine(connection.display_name), nameWidth), nameWidth);
    const details = [
      connection.provider,
      connection.status === "connected" ? usageOf(connection) : statusNames[connection.status],
    ].filter((detail) => detail !== "");
    const text = cutEnd(details.join(", "), Math.max(0, width - nameWidth - 5));
    const paint = connection.status === "connected" ? style.dim : style.yellow;
    return `${isCurrent ? style.bold(`❯  ${name}`) : `   ${name}`}  ${paint(text)}`;
  });
}

const statusNames = {
  connected: "connected",
  offline: "offline",
  reauth_required: "must be connected again",
} as const;

function usageOf({ quota }: WireConnection): string {
  if (quota?.used_bytes === undefined || quota.used_bytes === null) return "";
  const total = quota.total_bytes === null ? "" : ` of ${toSizeText(quota.total_bytes)}`;
  return `${toSizeText(quota.used_bytes)}${total} used`;
}

/** The place of the list: beside a preview it is narrower than the screen. */
interface ListArea {
  readonly size: Size;
  readonly height: number;
}

function drawFolder(
  state: BrowseState,
  folder: FolderView,
  area: ListArea,
  style: Style,
  now: number,
): readonly string[] {
  const rows = () =>
    state.rows.length === 0 ? [style.dim(toNotFound(folder))] : drawItems(state, area, style, now);
  return drawPhase(
    phaseOfList(state),
    { rows, empty: ["This folder is empty."] },
    area.size,
    style,
  );
}

function drawItems(
  state: BrowseState,
  { size, height }: ListArea,
  style: Style,
  now: number,
): readonly string[] {
  const { rows, window } = state;
  const width = innerWidth(size);
  const shown = rows.slice(window.top, window.top + height);
  const ageWidth = size.columns < 60 ? 0 : 7;
  const sizeWidth = 10;
  const nameWidth = Math.max(1, width - 3 - sizeWidth - ageWidth - (ageWidth === 0 ? 1 : 3));
  const columns = (name: string, bytes: string, age: string) =>
    `${padEnd(cutEnd(name, nameWidth), nameWidth)} ${padStart(bytes, sizeWidth)}${ageWidth === 0 ? "" : padStart(age, ageWidth + 2)}`;
  const head =
    headRows(state, size) === 0 ? [] : [style.dim(`   ${columns("name", "size", "changed")}`)];
  const lines = shown.map((item, index) => {
    const isCurrent = window.top + index === window.cursor;
    const isSelected = state.selected.has(item.provider_item_id);
    const name = toScreenLine(item.name) + (item.kind === "folder" ? "/" : "");
    const text = columns(name, sizeOf(item), toShortAge(item.modified_at, now));
    const paint = isCurrent ? style.bold : (line: string) => line;
    return `${isCurrent ? style.bold("❯") : " "}${isSelected ? style.green("+") : " "} ${paint(text)}`;
  });
  return [...head, ...lines];
}

function toNotFound({ isLoading, hasMore, items }: FolderView): string {
  if (isLoading) return `  Looking: ${items.length} names so far…`;
  return hasMore ? `  No such name among the first ${items.length}.` : "  No such name.";
}

function sizeOf({ size }: WireItem): string {
  return size === null ? "" : toSizeText(size);
}

/** Draws one line per transfer, as far as there is room. */
function panelRows({ transfers }: BrowseState, { rows }: Size): number {
  return Math.min(transfers.length, rows < 16 ? 1 : 4);
}

function drawTransfers(
  state: BrowseState,
  size: Size,
  style: Style,
  now: number,
): readonly string[] {
  const { transfers } = state;
  const count = panelRows(state, size);
  const shown = transfers.slice(0, transfers.length > count ? count - 1 : count);
  const lines = shown.map(({ name, kind, done, total, startedAt }) => {
    const mark = kind === "download" ? "↓ " : "↑ ";
    if (startedAt === undefined)
      return style.dim(cutEnd(`${mark}${toScreenLine(name)}  waits`, innerWidth(size)));
    const ms = now - startedAt;
    return `${mark}${toBar({ name, done, total, ms, columns: innerWidth(size) - 2 })}`;
  });
  const rest = transfers.length - shown.length;
  return rest === 0 ? lines : [...lines, style.dim(transfersText(transfers, rest))];
}

function transfersText(transfers: readonly Transfer[], rest: number): string {
  return rest === transfers.length ? `↓↑ ${rest} transfers` : `   and ${rest} more`;
}
