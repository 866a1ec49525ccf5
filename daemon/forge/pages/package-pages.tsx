import { packageEndpoints } from "../../contract/forge/packages/admin-packages.ts";
import { OwnerTabs, UserLink } from "./elements.tsx";
import { EmptyState, Facts, Pager, Table, Time, toBytesText } from "../../pages/elements.tsx";
import { get, type PathParams, toPageNumber, toPath } from "../../pages/page.ts";
import { type ForgePageContext, type ForgePageRoute } from "./forge-page.ts";

const LIMIT = 50;
const LIST = "/:owner/-/packages";
const VERSION = "/:owner/-/packages/:type/:name/:version";

/** Packages of an owner and their versions. */
export function packagePages(): ForgePageRoute[] {
  return [get(LIST, showPackages), get(VERSION, showVersion)];
}

async function showPackages({ call, request }: ForgePageContext, params: PathParams<typeof LIST>) {
  const { owner } = params;
  const page = toPageNumber(request);
  const query = { page: String(page), limit: String(LIMIT) };
  const { body: versions, total = 0 } = await call(packageEndpoints.listOwnerPackages, {
    params: { owner },
    query,
  });
  return {
    kind: "page",
    title: `Packages of ${owner}`,
    body: (
      <>
        <h1>{owner}</h1>
        <OwnerTabs owner={owner} current="packages" />
        {versions.length === 0 ? (
          <EmptyState>No packages.</EmptyState>
        ) : (
          <ul className="list">
            {versions.map((version) => (
              <li key={version.id}>
                <a
                  href={toPath(owner, "-", "packages", version.type, version.name, version.version)}
                >
                  {`${version.name} ${version.version}`}
                </a>
                <p className="quiet">
                  {version.type}, published <Time at={version.created_at} />
                </p>
              </li>
            ))}
          </ul>
        )}
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

async function showVersion({ call }: ForgePageContext, params: PathParams<typeof VERSION>) {
  const { body: version } = await call(packageEndpoints.getPackageVersion, { params });
  const { body: files } = await call(packageEndpoints.listPackageFiles, { params });
  const { repository } = version;
  return {
    kind: "page",
    title: `${version.name} ${version.version}`,
    body: (
      <>
        <h1>
          <a href={toPath(params.owner)}>{params.owner}</a> /{" "}
          <bdi>{`${version.name} ${version.version}`}</bdi>
        </h1>
        <OwnerTabs owner={params.owner} current="packages" />
        <Facts
          rows={[
            ["Type", version.type],
            ["Owner", <UserLink key="owner" user={version.owner} />],
            [
              "Published",
              <>
                <Time at={version.created_at} /> by <UserLink user={version.creator} />
              </>,
            ],
            [
              "Repository",
              repository === null ? undefined : (
                <a href={toPath(repository.owner.login, repository.name)}>{repository.full_name}</a>
              ),
            ],
          ]}
        />
        <h2>Files</h2>
        <Table
          label="Files"
          columns={["Name", "Size", "SHA-256"]}
          rows={files.map((file) => ({
            key: String(file.id),
            cells: [file.name, toBytesText(file.size), <code key="hash">{file.sha256}</code>],
          }))}
        />
      </>
    ),
  } as const;
}
