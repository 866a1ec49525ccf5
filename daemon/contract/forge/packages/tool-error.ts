import { z } from "zod";
import { apiError } from "../common.ts";

/** The body of every JSON error of the registries: the forge's own, with the member that npm shows. */
export const toolError = apiError.extend({ error: z.string() });

/** The refusals that every route of the registries may give. */
export const toolRefusals = {
  400: toolError,
  401: toolError,
  403: toolError,
  404: toolError,
} as const;
