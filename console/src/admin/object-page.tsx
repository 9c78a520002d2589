/** One object: its form, references to it, copy, deletion; and generated secrets, shown once. */
import { useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Button, Checkbox, Group, List, Modal, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { CONFIG_KINDS, SINGLE_KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { OffhookError } from '@offhook/client';
import { Copy, KeyRound, Trash2 } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Failure, Loading, Read } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import {
  freeNumberQuery,
  listHref,
  objectHref,
  objectQuery,
  pathOf,
  textOf,
  titleOf,
  useRenewed,
} from './data.ts';
import type { AnyObject } from './data.ts';
import { kindName, kindNames, kindWords, pathLabel } from './field-words.ts';
import { HandOver } from './hand-over.tsx';
import type { Handed } from './hand-over.tsx';
import { ObjectFields, ObjectLink } from './object-form.tsx';
import { PendingBadge } from './pending.tsx';
import type { Fields } from './schema.ts';
import { useObjectForm } from './use-object-form.ts';
import { say } from './say.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

const backTo = (kind: ConfigKind) => ({ href: listHref(kind), label: kindNames(kind) });
export function ObjectOf({ kind, name }: { readonly kind: ConfigKind; readonly name: string }): ReactNode {
  const client = useClient();
  const query = useQuery(objectQuery(client, kind, name));
  return (
    <Read of={query} back={backTo(kind)}>
      {(current) => <Existing kind={kind} current={current} />}
    </Read>
  );
}
/** A new object, optionally as a copy of another. */
export function NewObject({
  kind,
  copyOf,
}: {
  readonly kind: ConfigKind;
  readonly copyOf: string | null;
}): ReactNode {
  const client = useClient();
  const query = useQuery({ ...objectQuery(client, kind, copyOf ?? ''), enabled: copyOf !== null });
  const free = useQuery({ ...freeNumberQuery(client), enabled: kind === 'extension' });
  const number = useMemo(() => (typeof free.data === 'string' ? { extension: free.data } : {}), [free.data]);
  if (kind === 'extension' && free.isPending) return <Loading />;
  if (copyOf === null) return <New kind={kind} copy={number} />;
  return (
    <Read of={query} back={backTo(kind)}>
      {({ object }) => <New kind={kind} copy={{ ...copied(kind, object), ...number }} />}
    </Read>
  );
}
/** Fields of a copy: those of the object without its unique ones. */
function copied(kind: ConfigKind, object: Fields): Fields {
  const { [CONFIG_KINDS[kind].key]: _key, number: _number, ...rest } = object;
  if (kind !== 'extension') return rest;
  const { username: _username, email: _email, mobile: _mobile, ...plain } = rest;
  return { ...plain, email: null, mobile: null };
}

function Heading({
  kind,
  title,
  current,
}: {
  readonly kind: ConfigKind;
  readonly title: string;
  readonly current?: AnyObject;
}): ReactNode {
  return (
    <div>
      <Group gap={6}>
        <Anchor component={Link} href={PAGE_PATHS.config} size="sm">
          {t('configuration')}
        </Anchor>
        <Text size="sm" c="dimmed" aria-hidden>
          /
        </Text>
        <Anchor component={Link} href={listHref(kind)} size="sm">
          {kindNames(kind)}
        </Anchor>
      </Group>
      <Group gap="sm">
        <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Title>
        {current !== undefined && <PendingBadge pending={current.pending} />}
      </Group>
      {current !== undefined && (
        <Text c="dimmed" size="sm">
          {kindName(kind)} <code>{current.key}</code>
        </Text>
      )}
    </div>
  );
}
function New({ kind, copy }: { readonly kind: ConfigKind; readonly copy?: Fields }): ReactNode {
  const form = useObjectForm({ kind, current: null, copy });
  const client = useClient();
  const [, go] = useLocation();
  const [signIn, setSignIn] = useState(true);
  const [handed, setHanded] = useState<Handed | null>(null);
  const save = useOnce({ mutationFn: create });
  async function create(): Promise<void> {
    const [name, username] = [textOf(form.values, 'name'), textOf(form.values, 'username')];
    const saved = await form.save();
    if (saved === null) return;
    let { secrets } = saved;
    let failed: unknown = null;
    if (kind === 'extension' && signIn) {
      try {
        secrets = { ...secrets, ...(await client.config.setCredentials(saved.key)).secrets };
      } catch (caught) {
        failed = caught;
      }
    }
    if (Object.keys(secrets).length > 0 || failed !== null)
      setHanded({
        kind,
        key: saved.key,
        name,
        username,
        secrets,
        failed,
      });
    else {
      say(t('saved'));
      open(saved.key);
    }
  }
  function open(key: string): void {
    form.leave(key);
    go(objectHref(kind, key));
  }
  return (
    <Stack gap="md" maw={980}>
      <Heading kind={kind} title={t('new_kind', kindWords(kind))} />
      <ObjectFields
        kind={kind}
        isNew
        form={form}
        secretsSet={[]}
        keyField={CONFIG_KINDS[kind].key}
        onSave={save.mutate}
      >
        <Button component={Link} href={listHref(kind)} variant="subtle">
          {t('cancel')}
        </Button>
        {kind === 'extension' && (
          <Checkbox
            label={t('make_password')}
            checked={signIn}
            onChange={(event) => setSignIn(event.currentTarget.checked)}
          />
        )}
      </ObjectFields>
      {handed !== null && <HandOver handed={handed} onClose={() => open(handed.key)} />}
    </Stack>
  );
}
function Existing({ kind, current }: { readonly kind: ConfigKind; readonly current: AnyObject }): ReactNode {
  const form = useObjectForm({ kind, current });
  const client = useClient();
  const renew = useRenewed();
  const [handed, setHanded] = useState<Handed | null>(null);
  const [deleting, setDeleting] = useState(false);
  const title = (SINGLE_KINDS.has(kind) ? '' : titleOf(kind, current.object)) || kindName(kind);
  const show = (secrets: Readonly<Record<string, string>>): void =>
    setHanded({
      kind,
      key: current.key,
      name: title,
      username: textOf(current.object, 'username'),
      secrets,
      failed: null,
    });
  const save = useOnce({
    mutationFn: form.save,
    onSuccess(saved) {
      if (saved === null) return;
      say(t('saved'));
      if (Object.keys(saved.secrets).length > 0) show(saved.secrets);
    },
  });
  const credentials = useOnce({
    mutationFn: (wanted: Parameters<typeof client.config.setCredentials>[1]) =>
      client.config.setCredentials(current.key, wanted),
    async onSuccess({ secrets }) {
      show(secrets);
      await renew();
    },
  });
  return (
    <Stack gap="md" maw={980}>
      <Group justify="space-between" align="flex-start">
        <Heading kind={kind} title={title} current={current} />
        {!SINGLE_KINDS.has(kind) && (
          <Group gap="xs">
            <Button
              component={Link}
              href={`${listHref(kind)}?copy=${encodeURIComponent(current.key)}`}
              variant="default"
              leftSection={<Copy size={16} aria-hidden />}
            >
              {t('duplicate')}
            </Button>
            <Button
              variant="default"
              c="var(--offhook-alert)"
              leftSection={<Trash2 size={16} aria-hidden />}
              onClick={() => setDeleting(true)}
            >
              {t('delete')}
            </Button>
          </Group>
        )}
      </Group>
      {kind === 'extension' && (
        <Paper withBorder p="md" component="section" aria-labelledby="hand-over">
          <Title order={2} size="h4" id="hand-over" mb={4}>
            {t('sign_in_title')}
          </Title>
          <Text size="sm" c="dimmed" mb="sm">
            {t('sign_in_text')}
          </Text>
          {credentials.isError && <Failure error={credentials.error} />}
          <Group gap="xs">
            <Button
              variant="default"
              leftSection={<KeyRound size={16} aria-hidden />}
              onClick={() => credentials.mutate({})}
            >
              {t('new_password')}
            </Button>
            <Button
              variant="default"
              leftSection={<KeyRound size={16} aria-hidden />}
              onClick={() => credentials.mutate({ password: null, renew_sip_password: true })}
            >
              {t('new_sip_password')}
            </Button>
          </Group>
        </Paper>
      )}
      <ObjectFields
        kind={kind}
        isNew={false}
        form={form}
        secretsSet={current.secrets_set}
        keyField={CONFIG_KINDS[kind].key}
        onSave={save.mutate}
      />
      <Uses kind={kind} name={current.key} />
      {deleting && <DeleteDialog kind={kind} current={current} onClose={() => setDeleting(false)} />}
      {handed !== null && <HandOver handed={handed} onClose={() => setHanded(null)} />}
    </Stack>
  );
}

interface Use {
  readonly kind: string;
  readonly key: string;
  readonly path: string;
}
const UseList = ({ uses, own }: { readonly uses: readonly Use[]; readonly own?: ConfigKind }): ReactNode => (
  <List size="sm" spacing={4}>
    {uses.map((use, i) => (
      <List.Item key={`${use.kind}/${use.key}/${use.path}/${i}`}>
        <ObjectLink kind={use.kind} name={use.key} />
        {` · ${pathLabel(own ?? use.kind, use.path)}`}
      </List.Item>
    ))}
  </List>
);
const useUses = (kind: ConfigKind, name: string, staleTime?: number) => {
  const client = useClient();
  return useQuery({
    queryKey: ['config', 'uses', kind, name],
    queryFn: ({ signal }) => client.config.uses(pathOf(kind), name, signal),
    ...(staleTime === undefined ? {} : { staleTime }),
  });
};
function Uses({ kind, name }: { readonly kind: ConfigKind; readonly name: string }): ReactNode {
  const read = useUses(kind, name);
  return (
    <Read of={read} quiet>
      {({ used_by, uses }) =>
        used_by.length + uses.length > 0 && (
          <Paper withBorder p="md" component="section" aria-labelledby="uses">
            <Title order={2} size="h4" id="uses" mb="xs">
              {t('connections')}
            </Title>
            <Stack gap="sm">
              {used_by.length > 0 && (
                <div>
                  <Text size="sm" fw={600}>
                    {t('used_by')}
                  </Text>
                  <UseList uses={used_by} />
                </div>
              )}
              {uses.length > 0 && (
                <div>
                  <Text size="sm" fw={600}>
                    {t('uses')}
                  </Text>
                  <UseList uses={uses} own={kind} />
                </div>
              )}
            </Stack>
          </Paper>
        )
      }
    </Read>
  );
}
function DeleteDialog({
  kind,
  current,
  onClose,
}: {
  readonly kind: ConfigKind;
  readonly current: AnyObject;
  readonly onClose: () => void;
}): ReactNode {
  const client = useClient();
  const renew = useRenewed();
  const [, go] = useLocation();
  const read = useUses(kind, current.key, 0);
  const remove = useOnce({
    mutationFn: () => client.config.remove(pathOf(kind), current.key, { if_match: current.etag }),
    onSuccess() {
      say(t('deleted'));
      go(listHref(kind));
    },
    onSettled: renew,
  });
  const { error } = remove;
  const refused = error instanceof OffhookError ? (error.problem?.used_by ?? []) : [];
  const users = refused.length > 0 ? refused : (read.data?.used_by ?? []);
  return (
    <Modal opened onClose={onClose} title={t('delete_title', { name: `${kindName(kind)} ${current.key}` })}>
      <Stack gap="sm">
        {error !== null && <Failure error={error} />}
        {read.isError && <Failure error={read.error} onRetry={() => void read.refetch()} />}
        {users.length > 0 ? (
          <>
            <Text size="sm">{t('in_use_text')}</Text>
            <UseList uses={users} />
          </>
        ) : (
          <Text size="sm">{t('delete_text')}</Text>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} data-autofocus>
            {t('cancel')}
          </Button>
          <Button
            color="red"
            loading={remove.isPending}
            // A referenced object cannot be deleted; the list above links to the references.
            disabled={read.data === undefined || users.length > 0}
            onClick={() => remove.mutate()}
          >
            {t('delete')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
