import type { OwnedRepository, RefChange } from "../events.ts";
import type { BoundedEffect } from "../push-subscriber.ts";
import { keepsPulls } from "../repositories/repository-settings.view.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";

/** Returns what the output of `git push` says of these changes; undefined for nothing. */
export type DescribePush = (
  changes: readonly RefChange[],
  owned: OwnedRepository,
) => string | undefined;

/** New branches of one push whose pull requests are suggested. */
const SUGGESTED_MAX = 3;

/** Creates a function that says at which addresses the new branches of a push become pull requests. */
export function createPullSuggestion(urls: ForgeUrls): DescribePush {
  return (changes, { repository, owner }) => {
    if (!keepsPulls(repository.settings) || repository.isEmpty) return undefined;
    const branches = changes.flatMap(({ ref, before }) =>
      ref.startsWith(HEADS) && before === undefined ? [ref.slice(HEADS.length)] : [],
    );
    const home = toUrl(urls, `/${owner.name}/${repository.name}`);
    const lines = branches.slice(0, SUGGESTED_MAX).map((branch) => {
      const ends = [repository.defaultBranch, branch].map(encodeURIComponent).join("...");
      return `Create a new pull request for '${branch}':\n  ${home}/compare/${ends}`;
    });
    return lines.length === 0 ? undefined : lines.join("\n");
  };
}

const HEADS = "refs/heads/";

/** Joins what several functions say of a push. */
export function joinNotices(all: readonly DescribePush[]): DescribePush {
  return (changes, owned) => {
    const texts = all.flatMap((describe) => describe(changes, owned) ?? []);
    return texts.length === 0 ? undefined : texts.join("\n");
  };
}

/** Creates a function that says which effects some of the refs of a push do not have. */
export function createPushNotice(
  effects: readonly BoundedEffect[],
): (changes: readonly RefChange[]) => string | undefined {
  return (changes) => {
    const count = changes.filter(({ ref }) => isBranchOrTag(ref)).length;
    const exceeded = effects.filter(({ refsMax }) => count > refsMax);
    if (exceeded.length === 0) return undefined;
    const lines = exceeded.map(({ text, refsMax }) => `${text} the first ${refsMax}.`);
    return [`This push changes ${count} branches and tags.`, ...lines].join("\n");
  };
}

export const isBranchOrTag = (ref: string) => /^refs\/(?:heads|tags)\//.test(ref);

const HEADER_BYTES = 4;

/** Changes a stream of pkt-lines between two packets. */
export function createPacketInserter() {
  /** The first characters of the current packet, until its length is known. */
  let header = "";
  /** Bytes of the current packet that are still to come. */
  let left = 0;
  let pending: Buffer | undefined;
  let rest: Buffer | undefined;
  let isReplaced = false;

  /** Moves to the end of a chunk. Returns where the first packet begins in it. */
  function scan(chunk: Buffer): number | undefined {
    let first: number | undefined;
    let at = 0;
    while (at < chunk.byteLength) {
      if (left > 0) {
        const step = Math.min(left, chunk.byteLength - at);
        left -= step;
        at += step;
        continue;
      }
      if (header === "") first ??= at;
      header += chunk.toString("latin1", at, at + 1);
      at += 1;
      if (header.length < HEADER_BYTES) continue;
      // `0000` and other special packets have no content.
      left = Math.max(Number.parseInt(header, 16) - HEADER_BYTES, 0) || 0;
      header = "";
    }
    return first;
  }

  return {
    /** Sets the bytes to insert before the next packet that begins. */
    insert(bytes: Buffer): void {
      pending = bytes;
    },
    /** Sets the bytes that replace the next packet that begins and all later ones. */
    replaceRest(bytes: Buffer): void {
      rest = bytes;
    },
    /** Returns what to send for the next bytes of the stream. */
    pass(chunk: Buffer): Buffer {
      if (isReplaced) return Buffer.alloc(0);
      const at = scan(chunk);
      if (rest !== undefined && at !== undefined) {
        isReplaced = true;
        return Buffer.concat([chunk.subarray(0, at), rest]);
      }
      if (pending === undefined || at === undefined) return chunk;
      const joined = Buffer.concat([chunk.subarray(0, at), pending, chunk.subarray(at)]);
      pending = undefined;
      return joined;
    },
  };
}
