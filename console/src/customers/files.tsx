/** Customers as files: import with a dry run first, and export. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  Alert,
  Button,
  Group,
  Menu,
  Modal,
  SegmentedControl,
  Select,
  Stack,
  Table,
  Text,
} from '@mantine/core';
import { Download } from 'lucide-react';
import type { ImportFinding, ImportQuery, ImportReply } from '@offhook/contract/phonebook-files.ts';
import { ChooseFile } from '../app/choose-file.tsx';
import { formatNumber } from '../app/format.ts';
import { Facts, Rows, useChange } from '../app/page-parts.tsx';
import { useClient, useMay } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';
import { CUSTOMERS } from '../app/queries.ts';

const t = wordsOf('customers');

const LISTS = ['shared', 'mine'] as const;
const FORMATS = ['csv', 'vcard'] as const;
type List = ImportQuery['list'];

export const ExportMenu = (): ReactNode => (
  <Menu position="bottom-end">
    <Menu.Target>
      <Button variant="default" leftSection={<Download size={16} aria-hidden />}>
        {t('export')}
      </Button>
    </Menu.Target>
    <Menu.Dropdown>
      {LISTS.flatMap((list) =>
        FORMATS.map((format) => (
          <Menu.Item
            key={`${list} ${format}`}
            component="a"
            href={`/api/v1/phonebook/export?list=${list}&format=${format}`}
            download
          >
            {`${t(`list_${list}`)}, ${t(`format_${format}`)}`}
          </Menu.Item>
        )),
      )}
    </Menu.Dropdown>
  </Menu>
);

const FindingRow = ({ finding }: { readonly finding: ImportFinding }): ReactNode => (
  <Table.Tr>
    <Table.Td>{formatNumber(finding.line)}</Table.Td>
    <Table.Td style={{ overflowWrap: 'anywhere' }}>{finding.field}</Table.Td>
    <Table.Td>{t(`rule_${finding.rule}`)}</Table.Td>
    <Table.Td>{t(`left_out_${finding.left_out}`)}</Table.Td>
  </Table.Tr>
);
function Result({ reply }: { readonly reply: ImportReply }): ReactNode {
  const { rows, created, updated, unchanged, left_out, findings, findings_total, without_e164, ignored } =
    reply;
  const facts = [
    [t('rows'), rows],
    [t('rows_created'), created],
    [t('rows_updated'), updated],
    [t('rows_unchanged'), unchanged],
    [t('rows_left_out'), left_out],
  ] as const;
  return (
    <Stack gap="sm">
      <Alert role="status" color={reply.dry_run ? 'blue' : 'green'} variant="light">
        {t(reply.dry_run ? 'dry_run' : 'imported')}
      </Alert>
      <Facts facts={facts.map(([name, count]) => [name, formatNumber(count)])} />
      {without_e164 > 0 && (
        <Alert color="yellow" variant="light">
          {t('without_e164', { count: without_e164 })}
        </Alert>
      )}
      {ignored.length > 0 && (
        <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {t('ignored', { columns: ignored.join(', ') })}
        </Text>
      )}
      {findings.length > 0 && (
        <Rows
          caption={t('findings', { count: findings_total })}
          minWidth={480}
          columns={[t('line'), t('field'), t('rule'), t('left_out')]}
        >
          {findings.map((finding, at) => (
            <FindingRow key={at} finding={finding} />
          ))}
        </Rows>
      )}
      {findings_total > findings.length && (
        <Text size="sm" c="dimmed">
          {t('more_findings', { count: findings_total - findings.length })}
        </Text>
      )}
    </Stack>
  );
}
/** Chooses a file, shows what an import of it would store, and imports it. */
export function ImportDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const client = useClient();
  const maySupervise = useMay('supervisor');
  const [list, setList] = useState<List>(maySupervise ? 'shared' : 'mine');
  const [encoding, setEncoding] = useState<ImportQuery['encoding']>();
  const [file, setFile] = useState<File | null>(null);
  const send = (content: File, dry_run: 'true' | 'false'): Promise<ImportReply> =>
    client.importCustomers(content, /\.(?:vcf|vcard)$/i.test(content.name) ? 'vcard' : 'csv', {
      list,
      dry_run,
      encoding,
    });
  const look = useChange((content: File) => send(content, 'true'), { renews: [] });
  const store = useChange((content: File) => send(content, 'false'), { renews: [CUSTOMERS] });
  const forget = (): void => {
    setFile(null);
    look.reset();
    store.reset();
  };
  const reply = store.data ?? look.data;
  const failed = store.error ?? look.error;
  const isStored = store.data !== undefined;
  return (
    <Modal opened onClose={onClose} title={t('import_title')} size="lg">
      <Stack>
        <Text size="sm" c="dimmed">
          {t('import_text')}
        </Text>
        {maySupervise && (
          <SegmentedControl
            aria-label={t('list')}
            value={list}
            onChange={(value) => {
              setList(value as List);
              forget();
            }}
            data={LISTS.map((value) => ({ value, label: t(`list_${value}`) }))}
          />
        )}
        <Select
          label={t('encoding')}
          data={[
            { value: 'auto', label: t('encoding_auto') },
            { value: 'windows-1252', label: t('encoding_windows') },
          ]}
          value={encoding ?? 'auto'}
          onChange={(value) => {
            setEncoding(value === 'windows-1252' ? value : undefined);
            forget();
          }}
        />
        <Group>
          <ChooseFile
            text={t('choose_file')}
            accept=".csv,.txt,.vcf,.vcard,text/csv,text/vcard"
            loading={look.isPending}
            onFile={(chosen) => {
              forget();
              setFile(chosen);
              look.mutate(chosen);
            }}
          />
          {file !== null && (
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {file.name}
            </Text>
          )}
        </Group>
        {failed !== null && <Failure error={failed} />}
        {reply !== undefined && <Result reply={reply} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t(isStored ? 'close' : 'cancel')}
          </Button>
          {file !== null && look.data !== undefined && !isStored && (
            <Button loading={store.isPending} onClick={() => store.mutate(file)}>
              {t('import')}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}
