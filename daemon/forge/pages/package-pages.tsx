import {
  getPackageVersion,
  listOwnerPackages,
  listPackageFiles,
} from "../../contract/forge/packages/admin-packages.ts";
import { Pager, Time, toBytesText, UserLink } from "./elements.tsx";
import { type PageContext, type PageParams, type PageRoute, toPageNumber, toPath } from "./page.ts";

const LIMIT = 50;

/** Packages of an owner and their versions. */
export function packagePages(): PageRoute[] {
  return [
    { method: "GET", path: "/:owner/-/packages", run: showPackages },
    { method: "GET", path: "/:owner/-/packages/:type/:name/:version", run: showVersion },
  ];
}

async function showPackages({ call, request }: PageContext, params: PageParams) {
  const { owner = "" } = params;
  const page = toPageNumber(request);
  const query = { page: String(page), limit: String(LIMIT) };
  const { body: versions, total = 0 } = await call(listOwnerPackages, { params: { owner }, query });
  return {
    kind: "page",
    title: `Packages of ${owner}`,
    body: (
      <>
        <h1>
          Packages of <a href={toPath(owner)}>{owner}</a>
        </h1>
        {versions.length === 0 ? (
          <p className="quiet">No packages.</p>
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

async function showVersion({ call }: PageContext, params: PageParams) {
  const { body: version } = await call(getPackageVersion, { params });
  const { body: files } = await call(listPackageFiles, { params });
  const { repository } = version;
  return {
    kind: "page",
    title: `${version.name} ${version.version}`,
    body: (
      <>
        <h1>{`${version.name} ${version.version}`}</h1>
        <dl>
          <dt>Type</dt>
          <dd>{version.type}</dd>
          <dt>Owner</dt>
          <dd>
            <UserLink user={version.owner} />
          </dd>
          <dt>Published</dt>
          <dd>
            <Time at={version.created_at} /> by <UserLink user={version.creator} />
          </dd>
          {repository === null ? null : (
            <>
              <dt>Repository</dt>
              <dd>
                <a href={toPath(repository.owner.login, repository.name)}>{repository.full_name}</a>
              </dd>
            </>
          )}
        </dl>
        <h2>Files</h2>
        <div className="scroll" tabIndex={0} role="region" aria-label="Files">
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th>Size</th>
                <th>SHA-256</th>
              </tr>
            </thead>
            <tbody>
              {files.map((file) => (
                <tr key={file.id}>
                  <td>{file.name}</td>
                  <td>{toBytesText(file.size)}</td>
                  <td>
                    <code>{file.sha256}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </>
    ),
  } as const;
}
