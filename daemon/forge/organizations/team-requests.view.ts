import {
  ADMIN_ACCESS,
  repositoryUnits,
  type RepositoryUnit,
} from "../../../storage/tables/forge/accounts/teams.ts";
import type { TeamFields } from "../../contract/forge/organizations/teams.ts";
import { isVisibility } from "../../contract/forge/common.ts";
import { AppError } from "../../errors.ts";
import {
  type NewTeam,
  type TeamEdit,
  type TeamPermissions,
  withoutUnits,
} from "./teams.service.ts";

const levels: ReadonlyMap<string, number> = new Map([
  ["none", 0],
  ["read", 1],
  ["write", 2],
  ["admin", ADMIN_ACCESS],
  ["owner", ADMIN_ACCESS],
]);
const READ = 1;
const WRITE = 2;

/**
 * Returns the team of a creation. Throws `unprocessable` for a team without a word about its permissions, and for unknown
 * units and levels.
 */
export function toNewTeam(name: string, body: TeamFields): NewTeam {
  const edit = toTeamEdit(body);
  const units = edit.units ?? new Map<RepositoryUnit, number>();
  if ((edit.access ?? 0) < ADMIN_ACCESS && units.size === 0) throw withoutUnits();
  return {
    name,
    description: edit.description ?? "",
    includesAllRepositories: edit.includesAllRepositories ?? false,
    canCreateRepositories: edit.canCreateRepositories ?? false,
    visibility: edit.visibility ?? "private",
    // A team with only units has the highest of their levels.
    access: edit.access ?? Math.max(READ, ...units.values()),
    units,
  };
}

/** Returns the changes of an edit. Absent and null members stay unchanged, as does an empty name. */
export function toTeamEdit(body: TeamFields): TeamEdit {
  const { visibility } = body;
  return {
    name: body.name || undefined,
    description: body.description ?? undefined,
    includesAllRepositories: body.includes_all_repositories ?? undefined,
    canCreateRepositories: body.can_create_org_repo ?? undefined,
    visibility: visibility != null && isVisibility(visibility) ? visibility : undefined,
    ...toPermissions(body),
  };
}

function toPermissions(body: TeamFields): {
  readonly [K in keyof TeamPermissions]: TeamPermissions[K] | undefined;
} {
  const access = body.permission ? levels.get(body.permission) : undefined;
  if (access === ADMIN_ACCESS) return { access, units: new Map() };
  const named = Object.entries(body.units_map ?? {});
  // The list of units is the deprecated form: all of them get the permission of the team.
  const level = access ?? READ;
  const units =
    named.length > 0
      ? toUnits(named.map(([unit, word]) => [unit, toLevel(unit, word)]))
      : toUnits((body.units ?? []).map((unit) => [unit, level]));
  return { access, units: units.size === 0 ? undefined : units };
}

/** Permissions above write belong to administering teams and apply to all units. */
function toLevel(unit: string, word: string): number {
  const level = levels.get(word);
  if (level === undefined)
    throw new AppError("unprocessable", `invalid permission ${JSON.stringify(word)} of ${unit}`);
  return Math.min(level, WRITE);
}

function toUnits(entries: readonly (readonly [string, number])[]): Map<RepositoryUnit, number> {
  const units = new Map<RepositoryUnit, number>();
  for (const [name, level] of entries) {
    const unit = repositoryUnits.find((each) => each === name);
    if (unit === undefined)
      throw new AppError(
        "unprocessable",
        `unknown unit ${JSON.stringify(name)}: ${repositoryUnits.join(", ")}`,
      );
    units.set(unit, level);
  }
  return units;
}
