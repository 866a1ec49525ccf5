import type { WireBadge } from "../../../../daemon/contract/forge/accounts/badges.ts";
import type { Column } from "../../../output/cells.ts";

/** A badge in a table. */
export const badgeColumns: readonly Column<WireBadge>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "slug", cell: ({ slug }) => slug },
  { header: "description", cell: ({ description }) => description },
  { header: "image", cell: ({ image_url: imageUrl }) => imageUrl },
];
