import type { NodeReport, ContactAddress, SeenNode, SiteNodes } from '../../ports/site-nodes.ts';
import { OneSession } from './one-session.ts';
import { LOG_SCHEMA } from './site-log.ts';

const SCHEMA = `${LOG_SCHEMA}
create table if not exists offhook_nodes (
  name text primary key, holder text not null, location text not null, url text not null, role text not null, engine text not null,
  version bigint, problem text, seen timestamptz not null
);
alter table offhook_nodes add column if not exists head bigint;
alter table offhook_nodes add column if not exists calls integer;
alter table offhook_nodes add column if not exists drain timestamptz;
alter table offhook_nodes add column if not exists bus boolean;
alter table offhook_nodes add column if not exists sip text;
create table if not exists offhook_cluster (one integer primary key check (one = 1), wish text, key bytea);
create table if not exists offhook_contact_addresses (
  endpoint text not null, uri text not null, path text not null, until bigint not null, mark bigint not null,
  primary key (endpoint, uri)
);
create sequence if not exists offhook_contact_mark;
create index if not exists offhook_contact_addresses_mark on offhook_contact_addresses (mark);
insert into offhook_cluster (one) values (1) on conflict do nothing;`;
const REPORT = `insert into offhook_nodes (name, holder, location, url, role, engine, version, problem, head, calls, bus, sip, seen)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now())
  on conflict (name) do update set holder = excluded.holder, location = excluded.location, url = excluded.url, role = excluded.role,
    engine = excluded.engine, version = excluded.version, problem = excluded.problem, head = excluded.head, calls = excluded.calls, bus = excluded.bus, sip = excluded.sip, seen = excluded.seen,
    drain = case when offhook_nodes.holder = excluded.holder then offhook_nodes.drain end
  where offhook_nodes.holder = excluded.holder or offhook_nodes.seen < now() - interval '1 minute'`;

// Only the holder of the log stores them, by one session, so marks become visible in their order.
const KEEP = `with held as (select 1 from offhook_log where holder = $1), given as (
    select u.* from unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) as u (endpoint, uri, path, until), held
  ), over as (
    delete from offhook_contact_addresses c using held
    where c.until < extract(epoch from now()) - 3600 and not exists (select 1 from given g where g.endpoint = c.endpoint and g.uri = c.uri)
  )
  insert into offhook_contact_addresses (endpoint, uri, path, until, mark)
  select endpoint, uri, path, until, nextval('offhook_contact_mark') from given
  on conflict (endpoint, uri) do update set path = excluded.path, until = excluded.until, mark = excluded.mark`;

type Row = Omit<NodeReport, 'holder'> & {
  readonly holder: string;
  readonly location: string;
  readonly seconds: number;
  readonly holds: boolean;
  readonly behind: number | null;
  readonly drain: number | null;
};

/** The nodes in the schema of a PostgreSQL database, beside the site's log. Opens nothing before the first call. */
export function openPostgresSiteNodes(url: string): SiteNodes {
  const session = new OneSession(url, SCHEMA);
  return {
    async report({ name, holder, url: own, role, engine, version, problem, head, calls, bus, sip }) {
      const values = [
        name,
        holder.id,
        holder.location,
        own,
        role,
        engine,
        version,
        problem,
        head,
        calls,
        bus,
        sip ?? null,
      ];
      return (await session.ask(REPORT, values)).count === 1;
    },
    async list() {
      await session.ask(
        `delete from offhook_nodes where seen < now() - case role when 'web' then interval '1 day' else interval '30 days' end`,
      );
      const { rows } = await session.ask<Row>(
        `select n.name, n.holder, n.location, n.url, n.role, n.engine, n.version, n.problem, n.head, n.calls, n.bus, n.sip,
            extract(epoch from n.drain - now())::float8 as drain,
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
    async drain(name, seconds) {
      const until = 'now() + make_interval(secs => $2)';
      const { count } = await session.ask(`update offhook_nodes set drain = ${until} where name = $1`, [
        name,
        seconds,
      ]);
      return count === 1;
    },
    async wished() {
      return (
        (await session.ask<{ wish: string | null }>('select wish from offhook_cluster')).rows[0]?.wish ?? null
      );
    },
    async keepAddresses(holder, addresses) {
      const columns = [
        addresses.map((one) => one.endpoint),
        addresses.map((one) => one.uri),
        addresses.map((one) => one.path),
        addresses.map((one) => one.until),
      ];
      await session.ask(KEEP, [holder.id, ...columns]);
    },
    async addresses(mark) {
      const { rows } = await session.ask<ContactAddress & { readonly mark: number }>(
        `select endpoint, uri, path, until::float8 as until, mark::float8 as mark from offhook_contact_addresses
          where mark > $1 order by mark`,
        [mark],
      );
      return {
        mark: rows.at(-1)?.mark ?? mark,
        addresses: rows.map(({ endpoint, uri, path, until }) => ({ endpoint, uri, path, until })),
      };
    },
    async key(own) {
      await session.ask('update offhook_cluster set key = $1 where key is null', [own]);
      const { rows } = await session.ask<{ key: Uint8Array }>('select key from offhook_cluster');
      return Buffer.from(rows[0]!.key);
    },
    close: () => session.close(),
  };
}
