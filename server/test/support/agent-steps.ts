/** Steps of agents over `/api/v1/agents`, and their events in the journal. */
import { AgentChangeReply, OneAgentReply } from '@offhook/contract/agents.ts';
import type { Agent, AgentSummary } from '@offhook/contract/agents.ts';
import { Problem } from '@offhook/contract/errors.ts';
import { ApiError } from './api.ts';
import type { Person } from './api.ts';
import { eventsOf } from './call-steps.ts';
import type { StreamEvent } from './call-steps.ts';
import type { Site } from './site.ts';
import { until } from './until.ts';

/** Agents of one site, read and changed by a person. */
export interface AgentSteps {
  readonly shown: (person: Person, extension?: string) => Promise<Agent>;
  /** `POST /api/v1/agents/<extension>/<what>`; throws `ApiError` if refused. */
  readonly ask: (person: Person, what: string, body?: object, extension?: string) => Promise<Agent>;
  /** Waits for the agent's state, for at most `ms`. */
  readonly is: (person: Person, state: Agent['state'], ms?: number) => Promise<Agent>;
  /** Agent events of an extension after a seq. */
  readonly published: (
    extension: string,
    after?: number,
  ) => (StreamEvent & { readonly data: { readonly agent: AgentSummary } })[];
  readonly head: () => number;
}

export function agentSteps(site: () => Site): AgentSteps {
  const url = (extension: string, what = ''): string => `${site().base}/api/v1/agents/${extension}${what}`;
  const headers = (person: Person) => ({
    authorization: `Bearer ${person.token}`,
    'content-type': 'application/json',
  });
  const read = async (response: Response): Promise<unknown> => {
    const json: unknown = await response.json();
    if (response.ok) return json;
    const { code, detail } = Problem.parse(json);
    throw new ApiError(response.status, code, detail);
  };
  const shown: AgentSteps['shown'] = async (person, extension = person.extension) =>
    OneAgentReply.parse(await read(await fetch(url(extension), { headers: headers(person) }))).agent;
  const published: AgentSteps['published'] = (extension, after = 0) =>
    eventsOf(site()).filter(
      (e) => e.seq > after && e.type.startsWith('agent.') && e.data['extension'] === extension,
    ) as ReturnType<AgentSteps['published']>;
  return {
    shown,
    published,
    head: () => eventsOf(site()).at(-1)?.seq ?? 0,
    async ask(person, what, body = {}, extension = person.extension) {
      const response = await fetch(url(extension, `/${what}`), {
        method: 'POST',
        headers: headers(person),
        body: JSON.stringify(body),
      });
      return AgentChangeReply.parse(await read(response)).agent;
    },
    is: (person, state) =>
      until(
        `agent ${person.extension} is ${state}`,
        async () => {
          const agent = await shown(person);
          return agent.state === state && agent;
        },
        {
          seen: () => ({
            published: published(person.extension)
              .slice(-8)
              .map((e) => [e.type, e.data.agent.state]),
          }),
        },
      ),
  };
}
