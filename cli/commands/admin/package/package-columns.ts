import type { WirePackage } from "../../../../daemon/contract/forge/packages/admin-packages.ts";
import type { Column } from "../../../output/cells.ts";

/** A version of a package in a table. */
export const packageColumns: readonly Column<WirePackage>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "type", cell: ({ type }) => type },
  { header: "owner", cell: ({ owner }) => owner.login },
  { header: "name", cell: ({ name }) => name },
  { header: "version", cell: ({ version }) => version },
  { header: "creator", cell: ({ creator }) => creator.login },
  { header: "created", cell: ({ created_at: createdAt }) => createdAt },
];
