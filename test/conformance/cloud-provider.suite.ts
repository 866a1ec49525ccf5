import { afterAll, describe, expect } from "vitest";
import type { CloudProvider, ProviderCapabilities } from "../../storage/cloud/provider.ts";
import { skipUnless } from "../support/skip.ts";
import { deletingBehaviours } from "./cloud-provider/deleting.ts";
import { failingBehaviours } from "./cloud-provider/failing.ts";
import { listingBehaviours } from "./cloud-provider/listing.ts";
import { makingBehaviours } from "./cloud-provider/making.ts";
import { movingBehaviours } from "./cloud-provider/moving.ts";
import { readingBehaviours } from "./cloud-provider/reading.ts";
import { replacingBehaviours } from "./cloud-provider/replacing.ts";
import { renamingBehaviours } from "./cloud-provider/renaming.ts";
import { trashBehaviours } from "./cloud-provider/trash.ts";
import { uploadingBehaviours } from "./cloud-provider/uploading.ts";

/** A storage to be tried: empty, and of no other use. Disposing of it fails when the adapter has left anything open. */
export interface CloudSubject extends AsyncDisposable {
  /** The adapter under test, connected. */
  readonly provider: CloudProvider;
  /** A second connection to the same storage: another client. */
  readonly other: CloudProvider;
  /** Replaces the bytes of a file in place, as another program does; the length may stay the same. */
  overwrite(id: string, bytes: Uint8Array): Promise<void>;
  /**
   * Everything in the storage that is not a visible item: temporary files, upload sessions. Leaves out things that
   * belong there, such as a trash.
   */
  leftovers(): Promise<readonly string[]>;
  /** Puts the item that was deleted last back by the storage's own means. Where `can.trash`. */
  restoreLast?(): Promise<void>;
  readonly faults: Partial<Faults>;
}

/** Faults of the connection between adapter and storage. Each lasts until `clear`, unless stated otherwise. */
export interface Faults {
  /** The next change is carried out, and its answer is lost. */
  loseNextAnswer(): void;
  /** Truncates the next body that is read after `afterBytes`. */
  cutNextBody(afterBytes: number): void;
  /** Truncates the next body that is written after `afterBytes`. */
  cutNextUpload(afterBytes: number): void;
  /** The next ranged read is answered with the whole. */
  ignoreNextRange(): void;
  /** Bodies are compressed whether or not the adapter takes that. */
  compress(): void;
  /** The page after the first of the next listing fails. */
  failSecondPage(): void;
  /** Answers the next `times` requests with this response. */
  answer(
    times: number,
    status: number,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): void;
  /** Connections are refused. */
  refuse(): void;
  /** Requests are taken and never answered; the adapter's time-outs are short in tests. */
  stall(): void;
  /** The next answer sends the adapter to this address. */
  redirect(address: string): void;
  /** Makes the storage full: at once, or after it has received `afterBytes`. */
  fill(afterBytes: number): void;
  /** The access token is refused until it is renewed. */
  expireToken(): void;
  /** Renewing is refused. */
  refuseRenewal(): void;
  /** A child of this folder cannot be deleted. */
  lockChild(id: string): void;
  /** The storage alters uploads and reports it. */
  alterUploads(): void;
  /** Requests that reached the storage so far. */
  requests(): number;
  /** How often the token was renewed so far. */
  renewals(): number;
  clear(): void;
}

/** How one adapter is tried. */
export interface SuiteOptions {
  /** The declared capabilities of this configuration: they select the behaviours to test. */
  readonly capabilities: ProviderCapabilities;
  make(): Promise<CloudSubject>;
  /** The ways to fail that `make` offers. */
  readonly faults: readonly (keyof Faults)[];
  /** Why other orders of steps are impossible here, such as "no network lies in between". */
  readonly withoutFaults: string;
  /** Lengths around which the adapter takes another way of uploading. */
  readonly uploadSizes?: readonly number[];
  /** Entries that take more than two pages. */
  readonly entriesForPages?: number;
  /** Names that this storage refuses although the common rules allow them. */
  readonly refusesName?: (name: string) => boolean;
  /** How this storage keeps a name, where that is not as it was given: composed, say. */
  readonly spell?: (name: string) => string;
  /** Behaviours that this configuration cannot show, by number, with the reason. */
  readonly cannot?: Readonly<Record<number, string>>;
  /** An adapter that needs a server: whether it is available, and the reason when it is not. */
  readonly needs?: { readonly isThere: boolean; readonly reason: string };
}

/** One behaviour that every adapter shows. */
export interface Behaviour {
  /** 1 to 63. */
  readonly number: number;
  readonly title: string;
  /** Returns why the declared capabilities exclude the behaviour, or undefined. */
  readonly unless?: (capabilities: ProviderCapabilities) => string | undefined;
  readonly needs?: readonly (keyof Faults)[];
  run(subject: CloudSubject, options: SuiteOptions): Promise<void>;
}

/** How many behaviours there are. */
export const BEHAVIOURS = 63;

/** All behaviours, by number. */
export const behaviours: readonly Behaviour[] = [
  ...listingBehaviours,
  ...readingBehaviours,
  ...makingBehaviours,
  ...uploadingBehaviours,
  ...renamingBehaviours,
  ...movingBehaviours,
  ...deletingBehaviours,
  ...replacingBehaviours,
  ...failingBehaviours,
  ...trashBehaviours,
].sort((a, b) => a.number - b.number);

/**
 * Defines the behaviours of every adapter, and tests one against them. Each behaviour has a separate empty storage and
 * ends with a check for leftovers. The run prints how many passed and which were skipped, with the reason.
 */
export function cloudProviderSuite(name: string, options: SuiteOptions): void {
  const passed: number[] = [];
  const skipped = new Map<number, string>();
  describe(`cloud provider: ${name}`, () => {
    for (const behaviour of behaviours) {
      const reason = reasonToSkip(behaviour, options);
      if (reason !== undefined) skipped.set(behaviour.number, reason);
      skipUnless(reason === undefined, `${name}: ${reason}`)(
        `${behaviour.number}. ${behaviour.title}`,
        async () => {
          await using subject = await options.make();
          expect(subject.provider.capabilities).toEqual(options.capabilities);
          await behaviour.run(subject, options);
          subject.faults.clear?.();
          expect(await subject.leftovers()).toEqual([]);
          passed.push(behaviour.number);
        },
      );
    }
    afterAll(() => {
      const reasons = [...Map.groupBy(skipped, ([, reason]) => reason)].map(
        ([reason, entries]) => `${entries.map(([number]) => number).join(", ")} (${reason})`,
      );
      const rest = reasons.length === 0 ? "none skipped" : `skipped: ${reasons.join("; ")}`;
      process.stdout.write(
        `${name}: ${passed.length} of ${BEHAVIOURS} behaviours passed, ${rest}\n`,
      );
      // Without a server nothing ran, and the skips say so; otherwise a run that asks for nothing proves nothing.
      if (options.needs?.isThere !== false) expect(passed.length).toBeGreaterThan(0);
    });
  });
}

function reasonToSkip(behaviour: Behaviour, options: SuiteOptions): string | undefined {
  if (options.needs?.isThere === false) return options.needs.reason;
  const own = options.cannot?.[behaviour.number] ?? behaviour.unless?.(options.capabilities);
  if (own !== undefined) return own;
  const missing = behaviour.needs?.find((fault) => !options.faults.includes(fault));
  return missing === undefined ? undefined : options.withoutFaults;
}
