import type { z } from "zod";
import type { SqlValue } from "../../engine/database.ts";

// Ids of rows. A brand prevents the use of one table's id as another's. Rows and the payloads of jobs carry branded
// ids; an id in a request is branded by its endpoint, or by the function below where it is looked up.

/** A user or an organization: both are rows of one table. */
export type UserId = number & z.$brand<"UserId">;
/** A team of an organization. */
export type TeamId = number & z.$brand<"TeamId">;
/** An access token. */
export type TokenId = number & z.$brand<"TokenId">;
/** An application that signs in by OAuth 2. */
export type OauthApplicationId = number & z.$brand<"OauthApplicationId">;
/** The consent of a user to an application. */
export type OauthGrantId = number & z.$brand<"OauthGrantId">;
/** A sign-in of an application: a code and what it was exchanged for. */
export type OauthSignInId = number & z.$brand<"OauthSignInId">;
/** An SSH key of an account. */
export type KeyId = number & z.$brand<"KeyId">;
/** A repository. */
export type RepositoryId = number & z.$brand<"RepositoryId">;
/** An SSH key that opens one repository. */
export type DeployKeyId = number & z.$brand<"DeployKeyId">;
/** A lock of a file, made by a client of Git LFS. */
export type FileLockId = number & z.$brand<"FileLockId">;
/** A milestone of a repository. */
export type MilestoneId = number & z.$brand<"MilestoneId">;
/** A label of a repository or an organization. */
export type LabelId = number & z.$brand<"LabelId">;
/** An issue or a pull request; its number in the repository is another value. */
export type IssueId = number & z.$brand<"IssueId">;
/** A comment or another entry of an issue's timeline: both are rows of one table. */
export type CommentId = number & z.$brand<"CommentId">;
/** A review of a pull request, or a request for one. */
export type ReviewId = number & z.$brand<"ReviewId">;
/** A file that is attached to an issue or a comment. */
export type AttachmentId = number & z.$brand<"AttachmentId">;
/** A release of a repository. */
export type ReleaseId = number & z.$brand<"ReleaseId">;
/** A file of a release. */
export type ReleaseAssetId = number & z.$brand<"ReleaseAssetId">;
/** Time that a user spent on an issue. */
export type TrackedTimeId = number & z.$brand<"TrackedTimeId">;
/** An e-mail address of a user. */
export type EmailId = number & z.$brand<"EmailId">;
/** The definition of a badge. */
export type BadgeId = number & z.$brand<"BadgeId">;
/** A topic: the oldest row with its name. */
export type TopicId = number & z.$brand<"TopicId">;
/** A reported status of a commit; a commit is named by its object id. */
export type StatusId = number & z.$brand<"StatusId">;
/** A mirror of a repository, in one of both directions. */
export type MirrorId = number & z.$brand<"MirrorId">;
/** An entry of the journal of pushes. */
export type PushId = number & z.$brand<"PushId">;
/** Pending work on the files of repositories. */
export type ChoreId = number & z.$brand<"ChoreId">;
/** A user's notifications of one subject. */
export type ThreadId = number & z.$brand<"ThreadId">;
/** An entry of activity feeds. */
export type ActivityId = number & z.$brand<"ActivityId">;
export type HookId = number & z.$brand<"HookId">;
export type DeliveryId = number & z.$brand<"DeliveryId">;
/** A payload of webhooks, which deliveries share. */
export type PayloadId = number & z.$brand<"PayloadId">;
/** A run of a workflow. */
export type RunId = number & z.$brand<"RunId">;
/** A job of a run. */
export type JobId = number & z.$brand<"JobId">;
/** An attempt of a job on a runner. */
export type TaskId = number & z.$brand<"TaskId">;
export type RunnerId = number & z.$brand<"RunnerId">;
/** A secret of workflows. */
export type SecretId = number & z.$brand<"SecretId">;
/** A variable of workflows. */
export type VariableId = number & z.$brand<"VariableId">;
/** A cron expression of a workflow. */
export type ScheduleId = number & z.$brand<"ScheduleId">;
/** A token that runners register with. */
export type RegistrationTokenId = number & z.$brand<"RegistrationTokenId">;
/** A file that a run uploaded. */
export type ArtifactId = number & z.$brand<"ArtifactId">;
export type PackageId = number & z.$brand<"PackageId">;
/** A version of a package. */
export type PackageVersionId = number & z.$brand<"PackageVersionId">;
/** A manifest of a container image. */
export type ContainerManifestId = number & z.$brand<"ContainerManifestId">;
/** A file of a version. */
export type PackageFileId = number & z.$brand<"PackageFileId">;

// Each returns the id in a column that references the row, in a path or in a text.

export const toUserId = (value: SqlValue | undefined): UserId => Number(value) as UserId;
export const toTeamId = (value: SqlValue | undefined): TeamId => Number(value) as TeamId;
export const toOauthApplicationId = (value: SqlValue | undefined): OauthApplicationId =>
  Number(value) as OauthApplicationId;
export const toOauthGrantId = (value: SqlValue | undefined): OauthGrantId =>
  Number(value) as OauthGrantId;
export const toTokenId = (value: SqlValue | undefined): TokenId => Number(value) as TokenId;
export const toKeyId = (value: SqlValue | undefined): KeyId => Number(value) as KeyId;
export const toRepositoryId = (value: SqlValue | undefined): RepositoryId =>
  Number(value) as RepositoryId;
export const toDeployKeyId = (value: SqlValue | undefined): DeployKeyId =>
  Number(value) as DeployKeyId;
export const toMilestoneId = (value: SqlValue | undefined): MilestoneId =>
  Number(value) as MilestoneId;
export const toLabelId = (value: SqlValue | undefined): LabelId => Number(value) as LabelId;
export const toIssueId = (value: SqlValue | undefined): IssueId => Number(value) as IssueId;
export const toCommentId = (value: SqlValue | undefined): CommentId => Number(value) as CommentId;
export const toReviewId = (value: SqlValue | undefined): ReviewId => Number(value) as ReviewId;
export const toAttachmentId = (value: SqlValue | undefined): AttachmentId =>
  Number(value) as AttachmentId;
export const toMirrorId = (value: SqlValue | undefined): MirrorId => Number(value) as MirrorId;
export const toReleaseId = (value: SqlValue | undefined): ReleaseId => Number(value) as ReleaseId;
export const toReleaseAssetId = (value: SqlValue | undefined): ReleaseAssetId =>
  Number(value) as ReleaseAssetId;
export const toTrackedTimeId = (value: SqlValue | undefined): TrackedTimeId =>
  Number(value) as TrackedTimeId;
export const toThreadId = (value: SqlValue | undefined): ThreadId => Number(value) as ThreadId;
export const toRunId = (value: SqlValue | undefined): RunId => Number(value) as RunId;
export const toJobId = (value: SqlValue | undefined): JobId => Number(value) as JobId;
export const toTaskId = (value: SqlValue | undefined): TaskId => Number(value) as TaskId;
export const toRunnerId = (value: SqlValue | undefined): RunnerId => Number(value) as RunnerId;
export const toSecretId = (value: SqlValue | undefined): SecretId => Number(value) as SecretId;
export const toRegistrationTokenId = (value: SqlValue | undefined): RegistrationTokenId =>
  Number(value) as RegistrationTokenId;
export const toArtifactId = (value: SqlValue | undefined): ArtifactId =>
  Number(value) as ArtifactId;
