import { useState } from 'react';
import type { ReactNode } from 'react';
import { ActionIcon, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { ArrowLeft, Pencil, Phone } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { Danger } from '../app/danger.tsx';
import { formatDateTime, formatSpan } from '../app/format.ts';
import { Facts, PageHead, Section, useChange } from '../app/page-parts.tsx';
import { CUSTOMERS, contactsQuery, conversationsOfQuery } from '../app/queries.ts';
import { useClient } from '../app/session.tsx';
import { Failure, Loading, Read } from '../app/states.tsx';
import { talkSpan } from '../app/talk-span.ts';
import { wordsOf } from '../app/words.ts';
import { ZoneNote } from '../app/zone.tsx';
import { useDialling } from '../directory/dial.ts';
import { conversationAddress } from '../history/last-list.ts';
import { colourOf, dispositionText, iconOf } from '../history/party.tsx';
import type { PageProps } from '../pages.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { dialledOf, isConnected, useCustomerEvents, useMayChange } from './data.ts';
import { hintOf } from './form-fields.ts';
import { CustomerForm } from './form.tsx';
import { Marks } from './marks.tsx';
import styles from './customers.module.css';

const t = wordsOf('customers');

/** Numbers whose conversations are listed, and conversations of all of them together. */
const MOST_NUMBERS = 5;
const MOST_CONVERSATIONS = 10;

function sourceOf({ source }: Pick<Customer, 'source'>): string {
  if (source === 'manual' || source === 'import') return t(`source_${source}`);
  return isConnected({ source }) ? t('source_connector') : source;
}
const Numbers = ({ customer }: { readonly customer: Customer }): ReactNode => {
  const dialling = useDialling();
  if (customer.numbers.length === 0) return t('no_numbers');
  return (
    <Stack gap={4}>
      {customer.numbers.map((one) => (
        <Group key={one.number} gap="xs" wrap="nowrap">
          <ActionIcon
            variant="light"
            size={40}
            aria-label={t('call', { name: customer.name, number: one.number })}
            onClick={() => void dialling.call(dialledOf(one), customer.name)}
          >
            <Phone size={18} aria-hidden />
          </ActionIcon>
          <div>
            <Text size="sm" ff="monospace">
              {one.number}
            </Text>
            <Text size="xs" c="dimmed">
              {one.label}
            </Text>
          </div>
        </Group>
      ))}
    </Stack>
  );
};
function Conversations({ customer }: { readonly customer: Customer }): ReactNode {
  const client = useClient();
  const lists = useQueries({
    queries: customer.numbers
      .slice(0, MOST_NUMBERS)
      .map((one) => conversationsOfQuery(client, dialledOf(one))),
  });
  const failed = lists.find(({ error }) => error !== null);
  const all = new Map(lists.flatMap(({ data = [] }) => data.map((one) => [one.id, one])));
  const rows = [...all.values()]
    .toSorted((a, b) => (a.started_at < b.started_at ? 1 : -1))
    .slice(0, MOST_CONVERSATIONS);
  return (
    <Section title={t('conversations')}>
      {failed !== undefined && <Failure error={failed.error} onRetry={() => void failed.refetch()} />}
      {lists.some(({ isPending }) => isPending) ? (
        <Loading />
      ) : rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('no_conversations')}
        </Text>
      ) : (
        <ul className={styles.list}>
          {rows.map((row) => {
            const Icon = iconOf(row);
            return (
              <li key={row.id} className={styles.conversation}>
                <Icon size={18} aria-hidden color={colourOf(row)} />
                <Anchor component={Link} href={conversationAddress(row.id)} size="sm" fw={600}>
                  {formatDateTime(row.started_at)}
                </Anchor>
                <Text size="sm" c={colourOf(row)} fw={550}>
                  {dispositionText(row)}
                </Text>
                <Text size="sm" className={styles.span ?? ''}>
                  {row.talk_time > 0 && formatSpan(talkSpan(row))}
                </Text>
              </li>
            );
          })}
        </ul>
      )}
    </Section>
  );
}
function Shown({ customer }: { readonly customer: Customer }): ReactNode {
  const client = useClient();
  const [, go] = useLocation();
  const [edits, setEdits] = useState(false);
  const mayChange = useMayChange(customer);
  const connected = isConnected(customer);
  const hint = mayChange ? hintOf(customer) : 'read_only';
  const contacts = useQuery(contactsQuery(client));
  const owner = contacts.data?.contacts.find(({ extension }) => extension === customer.owner);
  const remove = useChange(() => client.phonebook.remove(customer.id, { if_match: customer.version }), {
    renews: [],
    done: () => t('deleted'),
    onDone: () => go(PAGE_PATHS.customers),
  });
  return (
    <>
      <PageHead
        title={customer.name}
        lead={
          <Group gap="xs">
            {t(customer.kind === 'company' ? 'kind_company' : 'kind_person')}
            {customer.company !== null && ` · ${customer.company}`}
            <Marks {...customer} />
          </Group>
        }
      >
        {mayChange && (
          <>
            <Button leftSection={<Pencil size={16} aria-hidden />} onClick={() => setEdits(true)}>
              {t('edit')}
            </Button>
            {!connected && (
              <Danger
                label={t('delete')}
                title={t('delete_title')}
                text={t('delete_text', { name: customer.name })}
                change={remove}
              />
            )}
          </>
        )}
      </PageHead>
      <Section title={t('numbers')}>
        <Numbers customer={customer} />
      </Section>
      <Section title={t('about')} {...(hint !== null && { text: t(hint) })}>
        <Facts
          facts={[
            [
              t('emails'),
              customer.emails.length === 0
                ? '–'
                : customer.emails.map((email) => (
                    <Anchor
                      key={email}
                      href={`mailto:${encodeURIComponent(email).replace('%40', '@')}`}
                      size="sm"
                      display="block"
                    >
                      {email}
                    </Anchor>
                  )),
            ],
            [t('owner'), owner === undefined ? (customer.owner ?? t('nobody')) : owner.name],
            [
              t('note'),
              <Text key="note" size="sm" style={{ whiteSpace: 'pre-wrap' }} dir="auto">
                {customer.note ?? '–'}
              </Text>,
            ],
            [t('source'), sourceOf(customer)],
            [t('updated'), formatDateTime(customer.updated_at)],
          ]}
        />
        <ZoneNote />
      </Section>
      <Conversations customer={customer} />
      {edits && <CustomerForm customer={customer} onClose={() => setEdits(false)} />}
    </>
  );
}
export function CustomerPage({ params }: PageProps): ReactNode {
  const client = useClient();
  const id = params['customer'] ?? '';
  useCustomerEvents();
  const one = useQuery({
    queryKey: [CUSTOMERS, 'one', id],
    queryFn: async ({ signal }) => (await client.phonebook.get(id, signal)).customer,
  });
  return (
    <Read of={one} back={{ href: PAGE_PATHS.customers, label: t('title') }}>
      {(customer) => (
        <>
          <Anchor component={Link} href={PAGE_PATHS.customers} size="sm" className={styles.back ?? ''}>
            <ArrowLeft size={14} aria-hidden /> {t('title')}
          </Anchor>
          <Shown customer={customer} />
        </>
      )}
    </Read>
  );
}
