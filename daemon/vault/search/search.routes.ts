import { searchEndpoints } from "../../contract/vault/search.ts";
import type { Route } from "../../http/handle.ts";
import { serve } from "../handle.ts";
import { toPageRequest } from "../page.ts";
import type { Search } from "./search.service.ts";
import { toSearchPage } from "./search.view.ts";

/** The route of `/api/search`. */
export const searchRoutes = (search: Search): Route[] => [
  ...serve(searchEndpoints, {
    search: async ({ caller, query }) => {
      const page = toPageRequest(query);
      return toSearchPage(await search.search(caller, query, page), page);
    },
  }),
];
