/** The service's API for a signed-in person; every reply is read with the contract's own strict schema. */
import { AgentReply } from '@offhook/contract/agents.ts';
import { Problem } from '@offhook/contract/errors.ts';
import { Contacts } from '@offhook/contract/extensions.ts';
import { History } from '@offhook/contract/history.ts';
import { LoginReply } from '@offhook/contract/session.ts';
import type { z } from 'zod';
import { PATIENCE_MS } from './until.ts';

type Infer<T extends z.ZodType> = z.infer<T>;
export type ContactRow = Infer<typeof Contacts>['contacts'][number];
export type HistoryReply = Infer<typeof History>;

/** An error reply: the status and the stable code. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, detail: string) {
    super(`${status} ${code}: ${detail}`);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}
export interface Person {
  readonly extension: string;
  readonly token: string;
  readonly login: Infer<typeof LoginReply>;
  contacts(): Promise<Infer<typeof Contacts>>;
  contact(extension: string): Promise<ContactRow>;
  history(query?: string): Promise<HistoryReply>;
  /** One action of agent.php; throws `ApiError` if it is refused. */
  agent(action: string, parameters?: Record<string, string | number>): Promise<Infer<typeof AgentReply>>;
}

async function call<T extends z.ZodType>(
  url: string,
  schema: T,
  init: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Infer<T>> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) });
  const body: unknown = await response.json();
  if (response.ok) return schema.parse(body);
  const problem = Problem.parse(body);
  throw new ApiError(response.status, problem.code, problem.detail);
}

/** Signs in. */
export async function signIn(base: string, extension: string, password: string): Promise<Person> {
  const login = await call(`${base}/api/auth/login`, LoginReply, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: extension, password }),
  });
  const authorization = `Bearer ${login.token}`;
  const contacts = () => call(`${base}/api/mobile/contacts.php`, Contacts, { headers: { authorization } });
  return {
    extension,
    token: login.token,
    login,
    contacts,
    async contact(wanted) {
      const found = (await contacts()).contacts.find((c) => c.extension === wanted);
      if (!found) throw new Error(`extension ${wanted} is not in the directory`);
      return found;
    },
    history: (query = '') =>
      call(`${base}/api/mobile/history.php${query}`, History, { headers: { authorization } }),
    agent: (action, parameters = {}) =>
      call(`${base}/api/cc_actions/agent.php`, AgentReply, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ action, ...parameters }),
      }),
  };
}
