/** Names of actors and objects in audit lines, with links. */
import { useMemo } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { useClient } from '../app/session.tsx';
import { wordsOf } from '../app/words.ts';
import { PAGE_PATHS } from '../app/paths.ts';
import { isKind, objectHref } from '../admin/data.ts';
import { kindName } from '../admin/field-words.ts';

const t = wordsOf('connectors');

interface Known {
  readonly extension: string;
  readonly name: string;
}
/** People by extension and by user name, because a line has one or the other. */
export type Names = ReadonlyMap<string, Known>;
const MOST = 200;
export function useNames(): Names {
  const client = useClient();
  const { data } = useQuery({
    queryKey: ['audit', 'people'],
    queryFn: ({ signal }) => client.people.list({ limit: MOST }, signal),
    staleTime: 60_000,
  });
  return useMemo(
    () =>
      new Map(
        (data?.people ?? []).flatMap(({ extension, username, name }) =>
          [extension, username].filter((key) => key !== '').map((key) => [key, { extension, name }] as const),
        ),
      ),
    [data],
  );
}
const Person = ({ known, as }: { readonly known: Known; readonly as: string }): ReactNode => (
  <>
    <Anchor component={Link} href={`${PAGE_PATHS.people}/${known.extension}`} size="sm">
      {known.name || known.extension}
    </Anchor>
    <Text size="xs" c="dimmed">
      {as}
    </Text>
  </>
);
export function Actor({ actor, names }: { readonly actor: string | null; readonly names: Names }): ReactNode {
  if (actor === null) return '–';
  const known = names.get(actor);
  return known === undefined ? actor : <Person known={known} as={actor} />;
}
/** `queue:support`, `webhook:3`, `connector:2`, an extension; any other text is shown unchanged. */
export function AuditObject({
  object,
  names,
}: {
  readonly object: string | null;
  readonly names: Names;
}): ReactNode {
  if (object === null) return '–';
  const known = names.get(object);
  if (known !== undefined) return <Person known={known} as={object} />;
  const [, kind, key] = /^([a-z_]+)[:/ ](.+)$/.exec(object) ?? [];
  if (kind === undefined || key === undefined) return object;
  if (kind === 'webhook') return <Named href={`${PAGE_PATHS.webhooks}/${key}`} text={`Webhook ${key}`} />;
  if (kind === 'connector')
    return <Named href={PAGE_PATHS.connector.replace(':connector', key)} text={`${t('connector')} ${key}`} />;
  if (!isKind(kind)) return object;
  const shown = kind === 'extension' ? (names.get(key)?.name ?? key) : key;
  return <Named href={objectHref(kind, key)} text={`${kindName(kind)} ${shown}`} />;
}
const Named = ({ href, text }: { readonly href: string; readonly text: string }): ReactNode => (
  <Anchor component={Link} href={href} size="sm">
    {text}
  </Anchor>
);
