/** Address books on other servers that the phonebook follows. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  Badge,
  Button,
  Group,
  PasswordInput,
  SegmentedControl,
  Switch,
  Table,
  Text,
  TextInput,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import type { PhonebookSource } from '@offhook/contract/phonebook-sources.ts';
import { useAttempt } from '../app/attempt.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { Dialog } from '../app/dialog.tsx';
import { errorAt, fieldsWith } from '../app/field-errors.ts';
import { Danger } from '../app/danger.tsx';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { Rows, Section, useChange } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { Failure, Loading } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';
import { LdapFields, ldapLabels, settingsOf, textsOf } from './ldap-fields.tsx';
import { FOLLOW_MS } from './parts.tsx';

const t = wordsOf('connectors');

const SOURCES = 'phonebook-sources';
/** Limits of the contract, which is not loaded here. */
const MOST = { title: 80, address: 500, username: 200, password: 500 };

interface FormProps {
  /** Null creates a source. */
  readonly source: PhonebookSource | null;
  readonly onClose: () => void;
}
function SourceForm({ source, onClose }: FormProps): ReactNode {
  const client = useClient();
  const attempt = useAttempt();
  const [kind, setKind] = useState(source?.kind ?? 'carddav');
  const [ldap, setLdap] = useState(() => textsOf(source?.ldap ?? null));
  const [title, setTitle] = useState(source?.title ?? '');
  const [address, setAddress] = useState(source?.address ?? '');
  const [username, setUsername] = useState(source?.username ?? '');
  const [password, setPassword] = useState('');
  const [enabled, setEnabled] = useState(source?.enabled ?? true);
  const change = useChange(
    () => {
      const settings = kind === 'ldap' && { ldap: settingsOf(ldap) };
      const wanted = { title, address, username, enabled, ...settings };
      if (source !== null)
        return client.phonebookSources.change(source.id, { ...wanted, ...(password !== '' && { password }) });
      const fresh = { ...wanted, kind, password };
      return attempt(fresh, (options) => client.phonebookSources.create(fresh, options));
    },
    {
      renews: [SOURCES],
      done: () => t(source === null ? 'source_created' : 'source_changed'),
      onDone: onClose,
    },
  );
  const labels = {
    title: t('name'),
    address: t(kind === 'ldap' ? 'source_server' : 'source_address'),
    username: t('source_user'),
    password: t('source_password'),
    enabled: t('enabled'),
    ...(kind === 'ldap' && ldapLabels()),
  };
  const field = fieldsWith(change.error, labels);
  return (
    <Dialog opened onClose={onClose} title={t(source === null ? 'new_source' : 'change_source')} size="lg">
      <ChangeForm
        change={change}
        submit={t(source === null ? 'create_source' : 'save')}
        labels={labels}
        onClose={onClose}
      >
        {source === null && (
          <SegmentedControl
            aria-label={t('source_kind')}
            value={kind}
            onChange={(value) => setKind(value as PhonebookSource['kind'])}
            data={(['carddav', 'ldap'] as const).map((value) => ({ value, label: t(`kind_${value}`) }))}
          />
        )}
        <TextInput
          {...field('title')}
          value={title}
          maxLength={MOST.title}
          onChange={(event) => setTitle(event.currentTarget.value)}
          data-autofocus
          required
        />
        <TextInput
          {...field('address')}
          description={t(kind === 'ldap' ? 'source_ldap_hint' : 'source_address_hint')}
          placeholder={
            kind === 'ldap' ? 'ldaps://ldap.example.com' : 'https://dav.example.com/anna/contacts/'
          }
          inputMode="url"
          value={address}
          maxLength={MOST.address}
          onChange={(event) => setAddress(event.currentTarget.value)}
          required
        />
        {kind === 'ldap' && (
          <LdapFields texts={ldap} errorAt={(path) => errorAt(change.error, path)} onChange={setLdap} />
        )}
        <TextInput
          {...field('username')}
          value={username}
          maxLength={MOST.username}
          autoComplete="off"
          onChange={(event) => setUsername(event.currentTarget.value)}
        />
        <PasswordInput
          {...field('password')}
          description={t(source?.has_password === true ? 'secret_set' : 'secret_hint')}
          value={password}
          maxLength={MOST.password}
          autoComplete="new-password"
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {source !== null && (
          <Switch
            {...field('enabled')}
            checked={enabled}
            onChange={(event) => setEnabled(event.currentTarget.checked)}
          />
        )}
      </ChangeForm>
    </Dialog>
  );
}

function State({ sync }: Pick<PhonebookSource, 'sync'>): ReactNode {
  const [color, text] =
    sync === null
      ? (['gray', t('is_disabled')] as const)
      : sync.running
        ? (['blue', t('source_running')] as const)
        : sync.words !== null
          ? (['red', t('source_failed')] as const)
          : (['green', t('is_ready')] as const);
  return (
    <>
      <Badge color={color} variant="dot" tt="none">
        {text}
      </Badge>
      {sync?.words != null && (
        <Text size="xs" style={{ overflowWrap: 'anywhere' }} lang="en">
          {sync.words}
        </Text>
      )}
      {sync?.last_at != null && (
        <Text size="xs" c="dimmed">
          {t('source_read', { time: formatDateTime(sync.last_at) })}
        </Text>
      )}
    </>
  );
}
function Row({ source }: { readonly source: PhonebookSource }): ReactNode {
  const client = useClient();
  const [edited, setEdited] = useState(false);
  const { id, title, address, sync } = source;
  const renews = [SOURCES];
  const read = useChange(() => client.phonebookSources.sync(id), { renews });
  const remove = useChange(() => client.phonebookSources.remove(id), {
    renews,
    done: () => t('source_removed'),
  });
  return (
    <Table.Tr>
      <Table.Td maw={300} style={{ overflowWrap: 'anywhere' }}>
        <Text fw={600}>{title}</Text>
        <Text size="xs" c="dimmed">
          {address}
        </Text>
      </Table.Td>
      <Table.Td maw={320}>
        <State sync={sync} />
        {read.error !== null && <Failure error={read.error} />}
      </Table.Td>
      <Table.Td>{sync === null ? '–' : formatNumber(sync.customers)}</Table.Td>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <Button
            size="xs"
            variant="default"
            disabled={sync === null}
            loading={read.isPending || sync?.running === true}
            onClick={() => read.mutate(undefined)}
          >
            {t('read_source')}
          </Button>
          <Button size="xs" variant="default" onClick={() => setEdited(true)}>
            {t('change')}
          </Button>
          <Danger
            size="xs"
            label={t('remove')}
            about={`${t('remove')}: ${title}`}
            title={t('remove_source_title')}
            text={t('remove_source_text')}
            change={remove}
          />
        </Group>
        {edited && <SourceForm source={source} onClose={() => setEdited(false)} />}
      </Table.Td>
    </Table.Tr>
  );
}
/** The sources of the phonebook. */
export function Sources(): ReactNode {
  const client = useClient();
  const [creates, setCreates] = useState(false);
  const list = useQuery({
    queryKey: [SOURCES],
    queryFn: ({ signal }) => client.phonebookSources.list(signal),
    refetchInterval: FOLLOW_MS,
  });
  const sources = list.data?.sources ?? [];
  return (
    <Section
      title={t('sources')}
      text={t('sources_text')}
      actions={
        <Button
          variant="default"
          leftSection={<Plus size={16} aria-hidden />}
          onClick={() => setCreates(true)}
        >
          {t('new_source')}
        </Button>
      }
    >
      {list.isPending && <Loading />}
      {list.isError && <Failure error={list.error} onRetry={() => void list.refetch()} />}
      {sources.length > 0 && (
        <Rows
          caption={t('sources')}
          minWidth={760}
          columns={[t('source'), t('state'), t('source_customers'), t('actions')]}
        >
          {sources.map((source) => (
            <Row key={source.id} source={source} />
          ))}
        </Rows>
      )}
      {creates && <SourceForm source={null} onClose={() => setCreates(false)} />}
    </Section>
  );
}
