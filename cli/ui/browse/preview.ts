import type { CliError } from "../../errors.ts";
import type { Style } from "../../io.ts";
import { toAgo } from "../../output/cells.ts";
import { sanitizeText } from "../../output/sanitize.ts";
import type { WireItem } from "../../support/items.ts";
import { drawPhase, splitOf } from "../frame.ts";
import { type Phase, phaseOf } from "../load.ts";
import { layOut, type ScrolledText } from "../scrolling.ts";
import type { Size } from "../screen.tsx";
import type { Place } from "./folder-view.ts";

/** The preview of a file. */
export interface Preview extends ScrolledText {
  readonly place: Place;
  readonly item: WireItem;
  /** The beginning of its bytes as text; null when they are not text. Undefined while loading. */
  readonly text: { readonly start: string | null; readonly isWhole: boolean } | undefined;
  readonly problem: CliError | undefined;
}

export function phaseOfPreview({ text, problem }: Preview): Phase {
  return phaseOf({ wasLoaded: text !== undefined, failure: problem }, 1);
}

/** Returns the preview laid out, scrolled no further than its end; `height` rows are for its text. */
export function layOutPreview(
  preview: Preview,
  size: Size,
  height: number,
  style: Style,
  now: number,
): Preview {
  return layOut(preview, size, {
    isWhole: preview.text !== undefined || preview.problem !== undefined,
    height,
    toLines: () => toPreviewLines(preview, size, style, now),
  });
}

/** Returns the lines of a preview; on a wide screen they are for its part of the screen. */
export function toPreviewLines(
  preview: Preview,
  screen: Size,
  style: Style,
  now: number,
): readonly string[] {
  const { item, text } = preview;
  const size = splitOf(screen)?.text ?? screen;
  const changed = item.modified_at === null ? "" : `, changed ${toAgo(item.modified_at, now)}`;
  const rows = () =>
    text === undefined || text.start === null
      ? ["This is not text. d saves it on this machine."]
      : [
          ...sanitizeText(text.start.replaceAll("\t", "    ").replaceAll("\r\n", "\n")).split("\n"),
          ...(text.isWhole ? [] : [style.dim("… d saves the whole file")]),
        ];
  return [
    style.dim(`${item.content_type ?? "file"}${changed}`),
    "",
    ...drawPhase(phaseOfPreview(preview), { rows, empty: [] }, size, style),
  ];
}
