// The events of the forge. A new event is a line of `ForgeEvents`, and the code that makes the change emits it. Hooks,
// notifications, activities and workflows each have one map of subscribers in subscribers/; other rooms subscribe in theirs.
import type { Transaction } from "../../storage/engine/database.ts";
import type { CommitWithFiles } from "../../storage/git/commits.ts";
import type { ActionJob } from "../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../storage/tables/forge/actions/runs.ts";
import type { ForgeUser } from "../../storage/tables/forge/accounts/users.ts";
import type { ForgeTeam } from "../../storage/tables/forge/accounts/teams.ts";
import type { PushId, UserId } from "../../storage/tables/forge/ids.ts";
import type { ForgeAttachment } from "../../storage/tables/forge/issues/attachments.ts";
import type { ForgeComment } from "../../storage/tables/forge/issues/comments.ts";
import type { ForgeIssue } from "../../storage/tables/forge/issues/issues.ts";
import type {
  ForgePackage,
  ForgePackageVersion,
} from "../../storage/tables/forge/packages/packages.ts";
import type { ForgePull } from "../../storage/tables/forge/pulls/pulls.ts";
import type { ReviewLine } from "../../storage/tables/forge/pulls/review-lines.ts";
import type { ForgeReview } from "../../storage/tables/forge/pulls/reviews.ts";
import type { ReleaseAsset } from "../../storage/tables/forge/releases/assets.ts";
import type { ForgeRelease } from "../../storage/tables/forge/releases/releases.ts";
import type { ForgeLabel } from "../../storage/tables/forge/repositories/labels.ts";
import type { ForgeRepository } from "../../storage/tables/forge/repositories/repositories.ts";
import type { CommitStatus } from "../../storage/tables/forge/repositories/statuses.ts";

/** A repository with its owner as of the transaction. */
export interface OwnedRepository {
  readonly repository: ForgeRepository;
  readonly owner: ForgeUser;
}

type ByActor = OwnedRepository & { readonly actor: ForgeUser };

/** One ref that a push moved. `before` is undefined for a created ref, `after` for a deleted one. */
export interface RefChange {
  /** The full name, such as `refs/heads/main`. */
  readonly ref: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The former values of changed members. */
export type Changes = Readonly<Record<string, { readonly from: string }>>;

/** A change of an issue by a user. */
export interface IssueChange {
  readonly owned: OwnedRepository;
  /** The issue after the change. */
  readonly issue: ForgeIssue;
  readonly actor: ForgeUser;
  readonly changes?: Changes;
}

export type IssueAction =
  | "opened"
  | "edited"
  | "closed"
  | "reopened"
  | "deleted"
  | "assigned"
  | "unassigned"
  | "label_updated"
  | "label_cleared"
  | "milestoned"
  | "demilestoned";

/** `retargeted`: it has another base. `synchronized`: its head has moved. */
export type PullAction =
  | { readonly action: "retargeted" }
  | {
      readonly action: "synchronized";
      readonly before: string;
      readonly after: string;
      /** Whether the job of a workflow pushed. */
      readonly isByJob?: boolean;
    };

/** A comment with the records that its view shows; the author is undefined once the account is deleted. */
export interface CommentDetails {
  readonly owned: OwnedRepository;
  readonly issue: ForgeIssue;
  readonly comment: ForgeComment;
  readonly author: ForgeUser | undefined;
  readonly attachments: readonly ForgeAttachment[];
}

/** A version of a package with its owner as of the transaction. */
export interface OwnedVersion {
  readonly package: ForgePackage;
  readonly version: Pick<ForgePackageVersion, "id" | "version" | "creatorId" | "createdAt">;
  readonly owner: ForgeUser;
}

/** A commit status with the related rows that its view shows. The creator is undefined once the account is deleted. */
export interface StatusDetails {
  readonly owned: OwnedRepository;
  readonly status: CommitStatus;
  readonly creator: ForgeUser | undefined;
}

/** A release with the records that its view shows. The author is undefined once the account is deleted. */
export interface ReleaseDetails {
  readonly owned: OwnedRepository;
  readonly release: ForgeRelease;
  readonly author: ForgeUser | undefined;
  readonly assets: readonly ReleaseAsset[];
}

/** The details of each event by its name. */
export interface ForgeEvents {
  /** A repository was created or adopted. */
  "repository.created": ByActor & { readonly isAdopted: boolean };
  /** A repository was edited; `former` is the row before the edit. */
  "repository.edited": ByActor & { readonly former: ForgeRepository };
  /** A rule of branches was added, changed or deleted. */
  "repository.protected": OwnedRepository;
  /** A repository was offered to another owner, who may now read and accept it. */
  "repository.offered": ByActor & { readonly recipient: ForgeUser };
  /** An offer was rejected or withdrawn; its recipient may no longer read the repository. */
  "repository.transfer_ended": OwnedRepository;
  /** A repository was transferred; `former` is the previous owner. */
  "repository.transferred": ByActor & { readonly former: ForgeUser };
  /** A user became a collaborator. Not emitted for another permission of one. */
  "collaborator.added": ByActor & { readonly collaborator: ForgeUser };
  /** A user became a member of a team. Not emitted for the owner of a new organization. */
  "team.member_added": {
    readonly team: Pick<ForgeTeam, "id" | "name">;
    readonly organization: ForgeUser;
    readonly member: ForgeUser;
    readonly actor: ForgeUser;
  };
  /** A fork is about to be created; `repository.created` follows. */
  fork: ByActor & { readonly parent: OwnedRepository };
  /** A repository is about to be deleted. Not emitted when an account is purged. */
  "repository.deleted": ByActor;
  /** A repository is about to be deleted with its owner, whose account is purged. */
  "repository.purged": OwnedRepository;
  /** A push has moved refs. Its commits are not read yet: see git/pushes.ts. */
  push: OwnedRepository & {
    readonly pusher: ForgeUser;
    readonly changes: readonly RefChange[];
    /** Its entry in the journal, which is deleted after the event. */
    readonly pushId: PushId;
  };
  organization: { readonly organization: ForgeUser; readonly actor: ForgeUser };
  /** Also of a pull request, which is an issue with `isPull`. */
  issue: IssueChange & {
    readonly action: IssueAction;
    /** The text of a new issue, whose mentioned users are notified. */
    readonly text?: string;
    /** The new assignees. */
    readonly assigned?: readonly UserId[];
    /** Of a change of labels. */
    readonly labels?: {
      readonly added: readonly ForgeLabel[];
      readonly removed: readonly ForgeLabel[];
    };
  };
  /** An issue or a pull request no longer depends on another one. */
  "issue.unblocked": IssueChange;
  /** Something that only pull requests have. `retargeted` gives `changes.ref` the former base. */
  pull: IssueChange & { readonly pull: ForgePull } & PullAction;
  /** A review was submitted, or a comment of a submitted one answered. */
  review: IssueChange & {
    readonly pull: ForgePull;
    readonly review: ForgeReview;
    readonly reply?: ReviewLine;
  };
  /** A verdict was dismissed, counts again, or is deleted. */
  review_change: IssueChange & {
    readonly pull: ForgePull;
    readonly review: ForgeReview;
    readonly action: "dismissed" | "undismissed" | "deleted";
  };
  /** A person or a team was asked for a review, or the request was taken back. */
  review_request: IssueChange & {
    readonly pull: ForgePull;
    /** Undefined for a team. */
    readonly reviewer: ForgeUser | undefined;
    /** The reviewer, or members of the team. */
    readonly asked: readonly UserId[];
    readonly isRemoved: boolean;
  };
  comment: IssueChange & CommentDetails & { readonly action: "created" | "edited" | "deleted" };
  /**
   * A version was published, or is about to be deleted. Not emitted for further files of a version, nor when an account
   * is purged.
   */
  package: OwnedVersion & { readonly actor: ForgeUser; readonly action: "created" | "deleted" };
  /** A release was published, became a draft again, was edited or is deleted. Not emitted for drafts. */
  release: ReleaseDetails & {
    readonly actor: ForgeUser;
    readonly action: "published" | "unpublished" | "edited" | "deleted";
  };
  /** A page of a wiki was changed by the API or the pages. A push by git to a wiki is no event, as in Gitea. */
  wiki: ByActor & {
    readonly action: "created" | "edited" | "deleted";
    /** The name in addresses, such as `Home-page`. */
    readonly page: string;
    /** The message of the commit; empty for a deleted page. */
    readonly comment: string;
  };
  status: StatusDetails & {
    readonly commit: CommitWithFiles;
    readonly author: ForgeUser | undefined;
  };
  /** An attempt of a run is new, has begun or has ended. */
  run: { readonly run: ActionRun };
  /** A job of a run is new and blocked, or has a further status. */
  run_job: { readonly run: ActionRun; readonly job: ActionJob };
}

export type EventName = keyof ForgeEvents;

/**
 * Calls the subscribers of an event in order, in the transaction of the change: their rows and jobs are committed with
 * it. A subscriber that fails fails the change, so one that needs git or the network enqueues a job.
 */
export type Emit = <Name extends EventName>(
  tx: Transaction,
  name: Name,
  details: ForgeEvents[Name],
) => Promise<void>;

/** The subscribers of one room, by the names of events. */
export type Subscribers = {
  readonly [Name in EventName]?: (tx: Transaction, details: ForgeEvents[Name]) => Promise<void>;
};

/** Creates the events of a forge. Every room subscribes before the first event is emitted. */
export function createEvents(): {
  readonly emit: Emit;
  readonly subscribe: (subscribers: Subscribers) => void;
} {
  const all: Subscribers[] = [];
  return {
    async emit(tx, name, details) {
      for (const subscribers of all) await subscribers[name]?.(tx, details);
    },
    subscribe: (subscribers) => void all.push(subscribers),
  };
}
