import { serveThread } from "../../../jobs/serve-thread.ts";
import {
  type ParsedConfig,
  type ParsedTemplates,
  parseConfig,
  parseTemplates,
  type TemplateFile,
} from "./issue-template.ts";

/** The templates of a repository, and its configuration file. */
export interface TemplateInput {
  readonly files: readonly TemplateFile[];
  readonly config: string | undefined;
}

export interface TemplateOutput extends ParsedTemplates {
  /** Undefined without a file. */
  readonly config: ParsedConfig | undefined;
}

// Entry of a worker thread that parses untrusted YAML.
serveThread(async ({ files, config }: TemplateInput): Promise<TemplateOutput> => ({
  ...parseTemplates(files),
  config: config === undefined ? undefined : parseConfig(config),
}));
