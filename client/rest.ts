/** Typed requests of everything under /api/v1, grouped by what they are about. */
import type { z } from 'zod';
import type {
  AgentChangeReply,
  AgentPauseBody,
  AgentQueueBody,
  AgentsReply,
  AgentWrapUpBody,
  OneAgentReply,
  PauseReasonsReply,
} from '@offhook/contract/agents.ts';
import type { AuditPage, AuditQuery } from '@offhook/contract/audit.ts';
import type {
  ConversationChangesQuery,
  ConversationChangesReply,
  ConversationReply,
  ConversationsQuery,
  ConversationsReply,
  NewOutcome,
  NoteReply,
  OutcomeReply,
} from '@offhook/contract/conversation-list.ts';
import type {
  ErasureProof,
  ErasureReply,
  ErasuresReply,
  NewErasure,
  NewPrivacyExport,
  PrivacyExportReply,
  PrivacyQuery,
} from '@offhook/contract/privacy.ts';
import type { PresenceChange, PresenceReply } from '@offhook/contract/presence.ts';
import type { FeaturesChange, FeaturesReply } from '@offhook/contract/features.ts';
import type { ExportReply, ExportsQuery, ExportsReply, NewExport } from '@offhook/contract/exports.ts';
import type { ApiKeyChange, ApiKeyCreated, ApiKeyReply, ApiKeys, NewApiKey } from '@offhook/contract/keys.ts';
import type {
  CallerReply,
  MembersReply,
  MoveCaller,
  QueueReply,
  QueuesReply,
  WithdrawReply,
} from '@offhook/contract/queues.ts';
import type {
  DeviceSessions,
  Done,
  OtpConfirmed,
  OtpSecret,
  OtpState,
  SessionConfirmed,
  SipReply,
  WhoAmI,
} from '@offhook/contract/session.ts';
import type { SoundsReply } from '@offhook/contract/sounds.ts';
import type { RecordingReply, RecordingsQuery, RecordingsReply } from '@offhook/contract/recordings.ts';
import type {
  QueueStatsQuery,
  QueueStatsReply,
  ServiceLevel,
  ServiceLevelReply,
  WallboardQuery,
  WallboardReply,
} from '@offhook/contract/wallboard.ts';
import type {
  DeliveriesQuery,
  NewWebhook,
  WebhookChange,
  WebhookDeliveries,
  WebhookReply,
  Webhooks,
  WebhookSecretReply,
  WebhookSettings,
  WebhookSettingsReply,
  WebhookTested,
} from '@offhook/contract/webhooks.ts';

import { createBoardsRest } from './boards-rest.ts';
import type { BoardsRest } from './boards-rest.ts';
import { createCallsRest } from './calls-rest.ts';
import { createConfigRest } from './config-rest.ts';
import type { ConfigRest } from './config-rest.ts';
import { createPeopleRest } from './people-rest.ts';

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** The same request with the same key is done once and answered with its result for 24 hours. */
  readonly idempotency_key?: string | undefined;
  /** For changes that may take long: `timeout_ms` of the client is their limit. */
  readonly slow?: boolean | undefined;
  /** Sent beside those of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Request = <T>(
  method: Method,
  path: string,
  body?: object,
  options?: RequestOptions,
) => Promise<T>;
export const slowly = (options?: RequestOptions): RequestOptions => ({ slow: true, ...options });
type Reply<S extends z.ZodType> = Promise<z.output<S>>;
type Body<S extends z.ZodType> = Readonly<z.input<S>>;
/** What is left out is not sent; numbers and texts are sent as they are. */
type Query<T> = { readonly [K in keyof T]?: T[K] | undefined };

export const queryOf = (fields: object): string => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
};
/** A path with its parts encoded: an id can hold any character. */
export const at = (strings: TemplateStringsArray, ...parts: readonly (string | number)[]): string =>
  String.raw({ raw: strings }, ...parts.map((part) => encodeURIComponent(part)));

export function createRest(request: Request) {
  const get = <T>(path: string, query: object = {}, signal?: AbortSignal): Promise<T> =>
    request('GET', path + queryOf(query), undefined, { signal });
  const post = <T>(path: string, body?: object, options?: RequestOptions): Promise<T> =>
    request('POST', path, body, options);

  const session = {
    whoAmI: (signal?: AbortSignal): Reply<typeof WhoAmI> => get('/api/v1/session', {}, signal),
    /** What a phone of this person registers with; kept in memory only. */
    sip: (signal?: AbortSignal): Reply<typeof SipReply> => get('/api/v1/session/sip', {}, signal),
    devices: (signal?: AbortSignal): Reply<typeof DeviceSessions> => get('/api/v1/sessions', {}, signal),
    end: (id: number): Reply<typeof Done> => request('DELETE', at`/api/v1/sessions/${id}`),
    changePassword: (current_password: string, new_password: string): Reply<typeof Done> =>
      post('/api/v1/session/password', { current_password, new_password }),
    otp: (signal?: AbortSignal): Reply<typeof OtpState> => get('/api/v1/session/otp', {}, signal),
    beginOtp: (current_password: string): Reply<typeof OtpSecret> =>
      post('/api/v1/session/otp', { current_password }),
    confirmOtp: (otp: string): Reply<typeof OtpConfirmed> => post('/api/v1/session/otp/confirm', { otp }),
    /** For what answers `confirmation_required`; `otp` where the second factor is on. */
    confirm: (password: string, otp?: string): Reply<typeof SessionConfirmed> =>
      post('/api/v1/session/confirm', { password, ...(otp === undefined ? {} : { otp }) }),
    disableOtp: (current_password: string, otp: string): Reply<typeof Done> =>
      post('/api/v1/session/otp/disable', { current_password, otp }),
  };
  /** What an extension has set for its own calls: do not disturb, forwards, which devices ring. */
  const features = {
    get: (extension: string, signal?: AbortSignal): Reply<typeof FeaturesReply> =>
      get(at`/api/v1/extensions/${extension}/features`, {}, signal),
    /** What is left out stays as it is. */
    set: (
      extension: string,
      change: Body<typeof FeaturesChange>,
      options?: RequestOptions,
    ): Reply<typeof FeaturesReply> =>
      request('PUT', at`/api/v1/extensions/${extension}/features`, change, options),
  };
  const agents = {
    list: (signal?: AbortSignal): Reply<typeof AgentsReply> => get('/api/v1/agents', {}, signal),
    /** The agent of the extension; an empty list for a person who is no agent. */
    find: (extension: string, signal?: AbortSignal): Reply<typeof AgentsReply> =>
      get('/api/v1/agents', { extension }, signal),
    get: (extension: string, signal?: AbortSignal): Reply<typeof OneAgentReply> =>
      get(at`/api/v1/agents/${extension}`, {}, signal),
    /** In all its queues, or in the one that is named; so do the others. */
    login: (
      extension: string,
      where: Body<typeof AgentQueueBody> = {},
      options?: RequestOptions,
    ): Reply<typeof AgentChangeReply> => post(at`/api/v1/agents/${extension}/login`, where, options),
    logout: (
      extension: string,
      where: Body<typeof AgentQueueBody> = {},
      options?: RequestOptions,
    ): Reply<typeof AgentChangeReply> => post(at`/api/v1/agents/${extension}/logout`, where, options),
    pause: (
      extension: string,
      how: Body<typeof AgentPauseBody> = {},
      options?: RequestOptions,
    ): Reply<typeof AgentChangeReply> => post(at`/api/v1/agents/${extension}/pause`, how, options),
    unpause: (
      extension: string,
      where: Body<typeof AgentQueueBody> = {},
      options?: RequestOptions,
    ): Reply<typeof AgentChangeReply> => post(at`/api/v1/agents/${extension}/unpause`, where, options),
    cancelPending: (extension: string, options?: RequestOptions): Reply<typeof AgentChangeReply> =>
      post(at`/api/v1/agents/${extension}/cancel-pending`, undefined, options),
    wrapUp: (
      extension: string,
      change: Body<typeof AgentWrapUpBody>,
      options?: RequestOptions,
    ): Reply<typeof AgentChangeReply> => post(at`/api/v1/agents/${extension}/wrap-up`, change, options),
    pauseReasons: (signal?: AbortSignal): Reply<typeof PauseReasonsReply> =>
      get('/api/v1/pause-reasons', {}, signal),
  };
  const queues = {
    list: (signal?: AbortSignal): Reply<typeof QueuesReply> => get('/api/v1/queues', {}, signal),
    get: (name: string, signal?: AbortSignal): Reply<typeof QueueReply> =>
      get(at`/api/v1/queues/${name}`, {}, signal),
    stats: (
      name: string,
      query: Query<QueueStatsQuery> = {},
      signal?: AbortSignal,
    ): Reply<typeof QueueStatsReply> => get(at`/api/v1/queues/${name}/stats`, query, signal),
    setServiceLevel: (name: string, level: ServiceLevel): Reply<typeof ServiceLevelReply> =>
      request('PUT', at`/api/v1/queues/${name}/service-level`, level),
    /** `caller` is the id of a caller who waits: the `leg_id` of its events. */
    moveCaller: (
      name: string,
      caller: string,
      to: Body<typeof MoveCaller>,
      options?: RequestOptions,
    ): Reply<typeof CallerReply> => post(at`/api/v1/queues/${name}/callers/${caller}/move`, to, options),
    withdrawCaller: (name: string, caller: string, options?: RequestOptions): Reply<typeof WithdrawReply> =>
      post(at`/api/v1/queues/${name}/callers/${caller}/withdraw`, undefined, options),
    setPriority: (
      name: string,
      caller: string,
      priority: number,
      options?: RequestOptions,
    ): Reply<typeof CallerReply> =>
      post(at`/api/v1/queues/${name}/callers/${caller}/priority`, { priority }, options),
    addMember: (name: string, extension: string, options?: RequestOptions): Reply<typeof MembersReply> =>
      post(at`/api/v1/queues/${name}/members`, { extension }, options),
    removeMember: (name: string, extension: string): Reply<typeof MembersReply> =>
      request('DELETE', at`/api/v1/queues/${name}/members/${extension}`),
  };
  /** The client's `audio` is their sound. */
  const recordings = {
    list: (query: Query<RecordingsQuery> = {}, signal?: AbortSignal): Reply<typeof RecordingsReply> =>
      get('/api/v1/recordings', query, signal),
    get: (id: string, signal?: AbortSignal): Reply<typeof RecordingReply> =>
      get(at`/api/v1/recordings/${id}`, {}, signal),
    remove: (id: string): Reply<typeof RecordingReply> => request('DELETE', at`/api/v1/recordings/${id}`),
  };
  const conversations = {
    /** Newest first; what is left out narrows nothing. `next_cursor` can be there although a page is short, or empty. */
    list: (
      query: Query<Omit<ConversationsQuery, 'has_recording' | 'own'>> & {
        readonly has_recording?: boolean;
        readonly own?: true;
      } = {},
      signal?: AbortSignal,
    ): Reply<typeof ConversationsReply> => get('/api/v1/conversations', query, signal),
    /** `id` is that of any call of it. */
    get: (id: string, signal?: AbortSignal): Reply<typeof ConversationReply> =>
      get(at`/api/v1/conversations/${id}`, {}, signal),
    /** What became of conversations after `since`, which is kept from the reply before. */
    changes: (
      query: Query<Omit<ConversationChangesQuery, 'detail'>> & { readonly detail?: boolean } = {},
      signal?: AbortSignal,
    ): Reply<typeof ConversationChangesReply> => get('/api/v1/conversations/changes', query, signal),
    addNote: (id: string, text: string, options?: RequestOptions): Reply<typeof NoteReply> =>
      post(at`/api/v1/conversations/${id}/notes`, { text }, options),
    removeNote: (id: string, note: number): Reply<typeof Done> =>
      request('DELETE', at`/api/v1/conversations/${id}/notes/${note}`),
    setOutcome: (
      id: string,
      outcome: Body<typeof NewOutcome>,
      options?: RequestOptions,
    ): Reply<typeof OutcomeReply> => post(at`/api/v1/conversations/${id}/outcome`, outcome, options),
  };
  const wallboard = (query: Query<WallboardQuery> = {}, signal?: AbortSignal): Reply<typeof WallboardReply> =>
    get('/api/v1/wallboard', query, signal);
  const webhooks = {
    list: (signal?: AbortSignal): Reply<typeof Webhooks> => get('/api/v1/webhooks', {}, signal),
    get: (id: number, signal?: AbortSignal): Reply<typeof WebhookReply> =>
      get(at`/api/v1/webhooks/${id}`, {}, signal),
    create: (webhook: Body<typeof NewWebhook>, options?: RequestOptions): Reply<typeof WebhookSecretReply> =>
      post('/api/v1/webhooks', webhook, options),
    change: (id: number, change: Body<typeof WebhookChange>): Reply<typeof WebhookReply> =>
      request('PATCH', at`/api/v1/webhooks/${id}`, change),
    remove: (id: number): Reply<typeof Done> => request('DELETE', at`/api/v1/webhooks/${id}`),
    deliveries: (
      id: number,
      query: Query<DeliveriesQuery> = {},
      signal?: AbortSignal,
    ): Reply<typeof WebhookDeliveries> => get(at`/api/v1/webhooks/${id}/deliveries`, query, signal),
    /** Sends again from one seq to another, both included. */
    replay: (id: number, from: number, to: number, options?: RequestOptions): Reply<typeof WebhookReply> =>
      post(at`/api/v1/webhooks/${id}/replay`, { from, to }, options),
    /** Sends the waiting delivery now. */
    retry: (id: number, options?: RequestOptions): Reply<typeof WebhookReply> =>
      post(at`/api/v1/webhooks/${id}/retry`, undefined, options),
    /** Private addresses that webhooks may call. */
    settings: (signal?: AbortSignal): Reply<typeof WebhookSettingsReply> =>
      get('/api/v1/settings/webhooks', {}, signal),
    setSettings: (settings: Body<typeof WebhookSettings>): Reply<typeof WebhookSettingsReply> =>
      request('PUT', '/api/v1/settings/webhooks', settings),
    rotateSecret: (id: number, options?: RequestOptions): Reply<typeof WebhookSecretReply> =>
      post(at`/api/v1/webhooks/${id}/rotate-secret`, undefined, options),
    test: (id: number, options?: RequestOptions): Reply<typeof WebhookTested> =>
      post(at`/api/v1/webhooks/${id}/test`, undefined, slowly(options)),
  };
  const apiKeys = {
    list: (signal?: AbortSignal): Reply<typeof ApiKeys> => get('/api/v1/api-keys', {}, signal),
    get: (id: number, signal?: AbortSignal): Reply<typeof ApiKeyReply> =>
      get(at`/api/v1/api-keys/${id}`, {}, signal),
    /** The only time the key itself is shown. */
    create: (key: Body<typeof NewApiKey>, options?: RequestOptions): Reply<typeof ApiKeyCreated> =>
      post('/api/v1/api-keys', key, options),
    change: (id: number, change: Body<typeof ApiKeyChange>): Reply<typeof ApiKeyReply> =>
      request('PATCH', at`/api/v1/api-keys/${id}`, change),
    revoke: (id: number): Reply<typeof Done> => request('DELETE', at`/api/v1/api-keys/${id}`),
  };
  /** Prompts and music on hold; `uploadSound` and `soundFile` of the client carry their bytes. */
  const sounds = {
    list: (signal?: AbortSignal): Reply<typeof SoundsReply> => get('/api/v1/config/sounds', {}, signal),
    /** Refused with `in_use` while the configuration uses it. */
    remove: (sound: string): Reply<typeof Done> => request('DELETE', at`/api/v1/config/sounds/${sound}`),
  };
  /** Files of conversations, made in the background; `exportFile` of the client gets one. */
  const exports = {
    list: (query: Query<ExportsQuery> = {}, signal?: AbortSignal): Reply<typeof ExportsReply> =>
      get('/api/v1/exports', query, signal),
    get: (id: number, signal?: AbortSignal): Reply<typeof ExportReply> =>
      get(at`/api/v1/exports/${id}`, {}, signal),
    create: (wanted: Body<typeof NewExport>, options?: RequestOptions): Reply<typeof ExportReply> =>
      post('/api/v1/exports', wanted, slowly(options)),
    /** Cancels it, or deletes its file. */
    remove: (id: number): Reply<typeof ExportReply> =>
      request('DELETE', at`/api/v1/exports/${id}`, undefined, slowly()),
  };
  /** Everything about one number or person: as a file, or erased. For administrators. */
  const privacy = {
    export: (
      who: Body<typeof NewPrivacyExport>,
      options?: RequestOptions,
    ): Reply<typeof PrivacyExportReply> => post('/api/v1/privacy/exports', who, slowly(options)),
    exported: (id: number, signal?: AbortSignal): Reply<typeof PrivacyExportReply> =>
      get(at`/api/v1/privacy/exports/${id}`, {}, signal),
    /** The file itself, parsed. */
    file: (id: number, signal?: AbortSignal): Promise<{ items: { kind: string; value: unknown }[] }> =>
      get(at`/api/v1/privacy/exports/${id}/file`, {}, signal),
    erase: (who: Body<typeof NewErasure>, options?: RequestOptions): Reply<typeof ErasureReply> =>
      post('/api/v1/privacy/erasures', who, slowly(options)),
    erasures: (query: Query<PrivacyQuery> = {}, signal?: AbortSignal): Reply<typeof ErasuresReply> =>
      get('/api/v1/privacy/erasures', query, signal),
    erasure: (id: number, signal?: AbortSignal): Reply<typeof ErasureProof> =>
      get(at`/api/v1/privacy/erasures/${id}`, {}, signal),
  };
  /** What the caller says of itself. */
  const presence = {
    get: (signal?: AbortSignal): Reply<typeof PresenceReply> => get('/api/v1/presence', {}, signal),
    /** All that is said from now on: what is left out is not said. */
    set: (change: Body<typeof PresenceChange>, options?: RequestOptions): Reply<typeof PresenceReply> =>
      request('PUT', '/api/v1/presence', change, options),
  };
  const audit = (query: Query<AuditQuery> = {}, signal?: AbortSignal): Reply<typeof AuditPage> =>
    get('/api/v1/audit', query, signal);
  const config: ConfigRest = createConfigRest(request);
  const boards: BoardsRest = createBoardsRest(request);

  return {
    session,
    agents,
    features,
    queues,
    calls: createCallsRest(request),
    conversations,
    recordings,
    sounds,
    wallboard,
    webhooks,
    apiKeys,
    exports,
    presence,
    privacy,
    audit,
    boards,
    config,
    ...createPeopleRest(request),
  };
}
export type Rest = ReturnType<typeof createRest>;
