import stringWidth from "string-width";
import type { WireThread } from "../../../daemon/contract/forge/notifications.ts";
import type { CliError } from "../../errors.ts";
import type { Style } from "../../io.ts";
import { toAgo, toShortAge } from "../../output/cells.ts";
import { toScreenLine } from "../../output/sanitize.ts";
import { toTerminalText } from "../../output/terminal-html.ts";
import { cutEnd, padEnd, padStart, wrapWords } from "../../output/width.ts";
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
import { type ListWindow, layOut, type ScrolledText } from "../scrolling.ts";
import type { Size } from "../screen.tsx";
import { type InboxView, statusOf, type ThreadText } from "./thread-store.ts";

/** A thread that is being read. */
export interface OpenThread extends ScrolledText {
  readonly thread: WireThread;
  readonly text: ThreadText | undefined;
  readonly problem: CliError | undefined;
}

/** Everything that decides how the inbox looks. */
export interface InboxState extends LoadState {
  readonly rows: readonly WireThread[];
  readonly window: ListWindow;
  /** Threads that are loaded, whether shown or not. */
  readonly known: number;
  readonly selected: ReadonlySet<number>;
  readonly view: InboxView;
  readonly words: string;
  readonly question: Question | undefined;
  readonly open: OpenThread | undefined;
  readonly helpTop: number | undefined;
  readonly message: Message | undefined;
  readonly isLive: boolean;
  readonly repository: string | undefined;
  readonly unread: number | undefined;
  readonly hasMore: boolean;
  readonly isLoading: boolean;
}

const listHints: readonly KeyHint[] = [
  ["Enter", "open", "row"],
  ["r", "read", "change"],
  ["u", "unread", "change"],
  ["p", "pin", "change"],
  ["a", "all", "change"],
  ["f", "view", "list"],
  ["/", "find", "row"],
  ["z", "undo", "list"],
  ["?", "keys"],
  ["q", "leave"],
];
const threadHints: readonly KeyHint[] = [
  ["↑↓", "scroll", "row"],
  ["n", "next"],
  ["c", "reply", "change"],
  ["u", "unread", "change"],
  ["p", "pin", "change"],
  ["?", "keys"],
  ["q", "back"],
];
/** The keys and their actions. */
export const help = createHelp("Inbox: keys", [
  ["↑ ↓  k j", "move by one thread"],
  ["PgUp PgDn", "move by one page"],
  ["g G", "go to the first or last thread"],
  ["Enter", "open and mark as read"],
  ["r u", "mark as read or unread"],
  ["p", "pin or unpin"],
  ["c", "reply to the issue of the thread"],
  ["Space", "select; r, u and p then apply to all selected threads"],
  ["a", "mark all as read; threads newer than this list stay unread"],
  ["z", "undo the last change"],
  ["f", "switch between unread and pinned, all, and pinned"],
  ["/", "filter by words"],
  ["R  Ctrl-R", "reload"],
  ["n N", "in an open thread: go to the next or previous one"],
  ["Esc", "clear the selection or filter, close a thread"],
  ["q", "leave"],
  ["", "* unread   ^ pinned   + selected"],
]);

const viewNames: Readonly<Record<InboxView, string>> = {
  open: "unread and pinned",
  all: "all threads",
  pinned: "pinned",
};

/** The phase of the list. What a filter hides is there nevertheless. */
function phaseOfList(state: InboxState): Phase {
  return phaseOf(state, state.known);
}

function phaseOfThread({ text, problem }: OpenThread): Phase {
  return phaseOf({ wasLoaded: text !== undefined, failure: problem }, hasText(text) ? 1 : 0);
}

function hasText(text: ThreadText | undefined): boolean {
  return (text?.html ?? "").trim() !== "";
}

function surroundingsOf(state: InboxState): Surroundings {
  const { open, helpTop, message } = state;
  if (helpTop !== undefined) return {};
  return { phase: open === undefined ? phaseOfList(state) : phaseOfThread(open), message };
}

/** Rows that the list, or the open thread's text, has on a screen of this size. */
export function listHeight(state: InboxState, size: Size): number {
  return bodyHeight(size, surroundingsOf(state));
}

/** The whole screen. `now` is in epoch milliseconds. */
export function drawInbox(
  state: InboxState,
  size: Size,
  style: Style,
  now: number,
): readonly string[] {
  const { helpTop, open, message, question } = state;
  const common = { question, message };
  if (helpTop !== undefined) return help.draw(helpTop, size, style);
  if (open !== undefined)
    return drawFrame(
      {
        ...common,
        title: titleOf(open.thread),
        aside: statusOf(open.thread),
        phase: phaseOfThread(open),
        body: drawThread(state, open, size, style, now),
        status: detailsOf(open.thread, now),
        hints: threadHints,
      },
      size,
      style,
    );
  return drawFrame(
    {
      ...common,
      title: toTitle(state, size),
      aside: toAside(state),
      phase: phaseOfList(state),
      body: drawList(state, { size, height: listHeight(state, size) }, style, now),
      status: statusLine(state, now),
      hints: listHints,
    },
    size,
    style,
  );
}

/** Draws the open thread; on a wide screen beside the list. */
function drawThread(
  state: InboxState,
  open: OpenThread,
  size: Size,
  style: Style,
  now: number,
): readonly string[] {
  const lines =
    layOutThread(state, open, size, style).lines?.text ?? toThreadLines(open, size, style);
  const text = lines.slice(open.top);
  const split = splitOf(size);
  if (split === undefined) return text;
  return drawSideBySide(
    drawList(state, { size: split.list, height: listHeight(state, size) }, style, now),
    text,
    split,
    style,
  );
}

function toTitle({ view, repository, words }: InboxState, { columns }: Size): string {
  const where = repository === undefined ? "Inbox" : `Inbox of ${repository}`;
  const filter = view === "open" && columns < 60 ? "" : `: ${viewNames[view]}`;
  if (words === "") return where + filter;
  return columns < 60 ? `${where}: "${words}"` : `${where}${filter}, with "${words}"`;
}

function toAside({ unread, isLive, isLoading }: InboxState): string {
  const count = unread === undefined ? "" : `${unread} unread`;
  const state = isLoading ? "loading…" : isLive ? "live" : "R reloads";
  return [count, state].filter((part) => part !== "").join(", ");
}

function statusLine({ rows, window, selected, hasMore }: InboxState, now: number): string {
  if (selected.size > 0) return `${selected.size} selected`;
  const thread = rows[window.cursor];
  if (thread === undefined) return "";
  return `${window.cursor + 1} of ${rows.length}${hasMore ? "+" : ""}  ${detailsOf(thread, now)}`;
}

function detailsOf(thread: WireThread, now: number): string {
  const { subject, repository } = thread;
  const parts = [
    repository?.full_name,
    subject === null ? undefined : nameOf(subject),
    subject?.state === "" ? undefined : subject?.state,
    toAgo(thread.updated_at, now),
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

/** `issue 12`, `commit`, `repository`. */
function nameOf({ type, url }: NonNullable<WireThread["subject"]>): string {
  const number = /\/(?:issues|pulls)\/(\d+)$/.exec(url)?.[1];
  return number === undefined ? type.toLowerCase() : `${type.toLowerCase()} ${number}`;
}

function titleOf({ subject }: WireThread): string {
  if (subject === null) return "(you may not read this any more)";
  // A commit that could not be read has its whole id as the title.
  if (/^[0-9a-f]{40,64}$/.test(subject.title)) return `Commit ${subject.title.slice(0, 10)}`;
  return subject.type === "Repository" ? `Repository ${subject.title}` : subject.title;
}

/** The place of the list: beside a thread it is narrower than the screen. */
interface ListArea {
  readonly size: Size;
  readonly height: number;
}

function drawList(state: InboxState, area: ListArea, style: Style, now: number): readonly string[] {
  const { size } = area;
  const empty =
    state.view === "open"
      ? "Nothing is waiting for you. f shows what you have read."
      : "There is nothing here. f shows other threads.";
  const rows = () =>
    state.rows.length === 0
      ? wrapWords(toNotFound(state), innerWidth(size) - 2).map((line) => style.dim(`  ${line}`))
      : drawThreads(state, area, style, now);
  return drawPhase(phaseOfList(state), { rows, empty: [empty] }, size, style);
}

function drawThreads(
  state: InboxState,
  { size, height }: ListArea,
  style: Style,
  now: number,
): readonly string[] {
  const { rows, window } = state;
  const shown = rows.slice(window.top, window.top + height);
  // The column is as wide as its longest text, and at most a third of the line.
  const widest = Math.max(
    ...shown.map(({ repository }) => stringWidth(repository?.full_name ?? "")),
  );
  const repositoryWidth = size.columns < 60 ? 0 : Math.min(widest, Math.floor(size.columns / 3));
  return shown.map((thread, index) =>
    drawRow(thread, {
      isCurrent: window.top + index === window.cursor,
      isSelected: state.selected.has(thread.id),
      repositoryWidth,
      width: innerWidth(size),
      style,
      now,
    }),
  );
}

function toNotFound({ isLoading, hasMore, known, view }: InboxState): string {
  if (isLoading) return `Looking: ${known} threads so far…`;
  if (hasMore) return `Not in the last ${known} threads. Esc shows all.`;
  return view === "all"
    ? "No thread has these words. Esc drops them."
    : "Not among these. f searches all threads.";
}

interface RowInput {
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly repositoryWidth: number;
  readonly width: number;
  readonly style: Style;
  readonly now: number;
}

/** `❯+* mira/website  Footer overlaps the imprint          2h`: cursor, selection, state, then the columns. */
function drawRow(
  thread: WireThread,
  { isCurrent, isSelected, repositoryWidth, width, style, now }: RowInput,
): string {
  const status = statusOf(thread);
  const cursor = isCurrent ? style.bold("❯") : " ";
  const selection = isSelected ? style.green("+") : " ";
  const mark =
    status === "unread" ? style.yellow("*") : status === "pinned" ? style.green("^") : " ";
  const age = padStart(toShortAge(thread.updated_at, now), 3);
  const repository =
    repositoryWidth === 0
      ? ""
      : `${padEnd(cutEnd(toScreenLine(thread.repository?.full_name ?? ""), repositoryWidth), repositoryWidth)}  `;
  const room = Math.max(1, width - 4 - stringWidth(repository) - 2 - age.length);
  const title = padEnd(cutEnd(toScreenLine(titleOf(thread)), room), room);
  const text = status === "read" ? style.dim(title) : isCurrent ? style.bold(title) : title;
  return `${cursor}${selection}${mark} ${style.dim(repository)}${text}  ${style.dim(age)}`;
}

/** Width of the status beside the title of an open thread, in cells. */
const asideWidth = 8;

/** Lays out the open thread. Does not cache the layout while the text is still loading. */
export function layOutThread(
  state: InboxState,
  open: OpenThread,
  size: Size,
  style: Style,
): OpenThread {
  return layOut(open, size, {
    isWhole: open.text !== undefined || open.problem !== undefined,
    height: bodyHeight(size, surroundingsOf({ ...state, open })),
    toLines: () => toThreadLines(open, size, style),
  });
}

function toThreadLines(open: OpenThread, screen: Size, style: Style): string[] {
  const { thread, text } = open;
  const size = splitOf(screen)?.text ?? screen;
  const width = innerWidth(size);
  const address = thread.subject?.html_url ?? "";
  const title = toScreenLine(titleOf(thread));
  const head = [
    // The part of the repository's name that the first line has no room for.
    ...(stringWidth(title) > width - asideWidth ? wrapWords(title, width).map(style.bold) : []),
    ...(address === "" ? [] : [style.dim(cutEnd(toScreenLine(address), width))]),
    "",
  ];
  const rows = () =>
    toTerminalText(text?.html ?? "", { width, style })
      .trimEnd()
      .split("\n");
  const empty = ["There is no text to read."];
  return [...head, ...drawPhase(phaseOfThread(open), { rows, empty }, size, style)];
}
