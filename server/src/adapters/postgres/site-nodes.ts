import type { NodeReport, SeenNode, SiteNodes } from '../../ports/site-nodes.ts';
import { OneSession } from './one-session.ts';
import { LOG_SCHEMA } from './site-log.ts';

const SCHEMA = `${LOG_SCHEMA}
create table if not exists offhook_nodes (
  name text primary key, holder text not null, location text not null, url text not null, role text not null, engine text not null,
  version bigint, problem text, seen timestamptz not null
);
alter table offhook_nodes add column if not exists head bigint;
create table if not exists offhook_cluster (one integer primary key check (one = 1), wish text, key bytea);
insert into offhook_cluster (one) values (1) on conflict do nothing;`;
const REPORT = `insert into offhook_nodes (name, holder, location, url, role, engine, version, problem, head, seen)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now())
  on conflict (name) do update set holder = excluded.holder, location = excluded.location, url = excluded.url, role = excluded.role,
    engine = excluded.engine, version = excluded.version, problem = excluded.problem, head = excluded.head, seen = excluded.seen
  where offhook_nodes.holder = excluded.holder or offhook_nodes.seen < now() - interval '1 minute'`;

type Row = Omit<NodeReport, 'holder'> & {
  readonly holder: string;
  readonly location: string;
  readonly seconds: number;
  readonly holds: boolean;
  readonly behind: number | null;
};

/** The nodes in the schema of a PostgreSQL database, beside the site's log. Opens nothing before the first call. */
export function openPostgresSiteNodes(url: string): SiteNodes {
  const session = new OneSession(url, SCHEMA);
  return {
    async report({ name, holder, url: own, role, engine, version, problem, head }) {
      const values = [name, holder.id, holder.location, own, role, engine, version, problem, head];
      return (await session.ask(REPORT, values)).count === 1;
    },
    async list() {
      await session.ask(
        `delete from offhook_nodes where seen < now() - case role when 'web' then interval '1 day' else interval '30 days' end`,
      );
      const { rows } = await session.ask<Row>(
        `select n.name, n.holder, n.location, n.url, n.role, n.engine, n.version, n.problem, n.head,
            extract(epoch from now() - n.seen)::float8 as seconds, coalesce(n.holder = l.holder, false) as holds,
            case when n.head is not null then greatest(0, l.head - n.head) end as behind
          from offhook_nodes n left join offhook_log l on l.one = 1 order by n.name`,
      );
      return rows.map(({ holder, location, seconds, ...more }): SeenNode => ({
        ...more,
        holder: { id: holder, location },
        seconds: Math.max(0, seconds),
      }));
    },
    async forget({ name, holder }) {
      await session.ask('delete from offhook_nodes where name = $1 and holder = $2', [name, holder.id]);
    },
    async wish(name) {
      await session.ask('update offhook_cluster set wish = $1', [name]);
    },
    async wished() {
      return (
        (await session.ask<{ wish: string | null }>('select wish from offhook_cluster')).rows[0]?.wish ?? null
      );
    },
    async key(own) {
      await session.ask('update offhook_cluster set key = $1 where key is null', [own]);
      const { rows } = await session.ask<{ key: Uint8Array }>('select key from offhook_cluster');
      return Buffer.from(rows[0]!.key);
    },
    close: () => session.close(),
  };
}
