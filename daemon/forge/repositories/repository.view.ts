import type { ForgeTeam } from "../../../storage/tables/forge/accounts/teams.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { toTeamView } from "../accounts/organization.view.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import { toDuration } from "../../utilities/duration.ts";
import {
  type ForgeUrls,
  neverTime,
  toApiUrl,
  toSshUrl,
  toUrl,
  toWireTime,
  unfilledTime,
} from "../urls.ts";
import { reaches } from "./access.ts";
import { type AccessLevel } from "../opened.ts";
import type { OwnedRepository } from "../events.ts";
import { toSettings } from "./repository-settings.view.ts";

/** A repository with its counts and the permission of the viewer. */
export interface RepositoryDetails extends OwnedRepository {
  readonly watchers: number;
  readonly access: AccessLevel;
  /** Anonymous callers do not see e-mail addresses. */
  readonly isSignedIn: boolean;
  /** The repository from which it was forked, if the viewer may read it; only in responses about repositories. */
  readonly parent?: RepositoryDetails | undefined;
  /** The pending transfer; only in responses about a single repository. */
  readonly transfer?:
    | {
        readonly doer: ForgeUser;
        readonly recipient: ForgeUser;
        /** Teams of the recipient. */
        readonly teams: readonly ForgeTeam[];
      }
    | undefined;
}

/** Converts a repository. Members of unsupported features have the values that Gitea gives them. */
export function toRepositoryView(details: RepositoryDetails, urls: ForgeUrls): WireRepository {
  const { repository, owner, watchers, access, isSignedIn, parent, transfer } = details;
  const fullName = `${owner.name}/${repository.name}`;
  // An organization has no address, and the member must be a valid address.
  const seesEmail = isSignedIn && reaches(access, "read") && owner.email !== "";
  const url = toApiUrl(urls, `/repos/${fullName}`);
  return {
    id: repository.id,
    owner: toEmbeddedUserView(owner, seesEmail, urls),
    name: repository.name,
    full_name: fullName,
    description: repository.description,
    empty: repository.isEmpty,
    private: repository.isPrivate,
    fork: repository.forkOf !== undefined,
    template: repository.isTemplate,
    mirror: repository.isMirror,
    size: repository.sizeKib,
    language: repository.language,
    languages_url: `${url}/languages`,
    html_url: toUrl(urls, `/${fullName}`),
    url,
    link: "",
    ssh_url: toSshUrl(urls, fullName),
    clone_url: toUrl(urls, `/${fullName}.git`),
    original_url: repository.originalUrl,
    website: repository.website,
    stars_count: repository.starCount,
    forks_count: repository.forkCount,
    watchers_count: watchers,
    branch_count: repository.branchCount,
    open_issues_count: repository.openIssueCount,
    open_pr_counter: repository.openPullCount,
    release_counter: repository.releaseCount,
    default_branch: repository.defaultBranch,
    archived: repository.archivedAt !== undefined,
    created_at: toWireTime(repository.createdAt),
    updated_at: toWireTime(repository.updatedAt),
    archived_at:
      repository.archivedAt === undefined ? neverTime : toWireTime(repository.archivedAt),
    permissions: {
      admin: reaches(access, "admin"),
      push: reaches(access, "write"),
      pull: reaches(access, "read"),
    },
    ...toSettings(repository.settings),
    avatar_url: repository.avatarHash && toUrl(urls, `/avatars/${repository.avatarHash}`),
    internal: !repository.isPrivate && owner.visibility === "private",
    mirror_interval: repository.isMirror ? toDuration(repository.mirrorIntervalSeconds) : "",
    object_format_name: repository.objectFormat,
    mirror_updated: toTimeOrUnfilled(repository.mirrorUpdatedAt),
    mirror_last_sync_at: toTimeOrUnfilled(repository.mirrorSyncedAt),
    ...(transfer === undefined
      ? {}
      : {
          repo_transfer: {
            doer: toEmbeddedUserView(transfer.doer, false, urls),
            recipient: toEmbeddedUserView(transfer.recipient, false, urls),
            teams: transfer.teams.map((team) => toTeamView(team, transfer.recipient, urls)),
          },
        }),
    ...(parent === undefined ? {} : { parent: toRepositoryView(parent, urls) }),
    topics: [...repository.topics],
    licenses: [...repository.licenses],
  };
}

const toTimeOrUnfilled = (time: number | undefined) =>
  time === undefined ? unfilledTime : toWireTime(time);
