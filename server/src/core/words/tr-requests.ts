/** Refusals of requests, streams and webhooks in Turkish. */
export const requests: Readonly<Record<string, string>> = {
  'alert is before warn': 'alarm eşiği uyarı eşiğinden önce',
  'must not be equal to from; a complete day is 00:00 to 24:00':
    'from ile aynı olamaz; tam gün 00:00 ile 24:00 arasıdır',
  'the month has no such day': 'ayda böyle bir gün yok',
  'not 1 to 1000 slots, first to last': 'ilk yerle birlikte 1 ila 1000 park yeri olmalı',
  'is missing: the number to use as a prefix': 'eksik: ön ek olarak kullanılacak numara',
  'name a number or an extension, and not both': 'bir numara ya da bir dahili verin, ikisini birden değil',
  'give queue or position': 'queue ya da position verin',
  'username is missing or empty': 'kullanıcı adı eksik ya da boş',
  'must not be before from': 'from değerinden önce olamaz',
  'not a number: digits, and a + in front': 'numara değil: rakamlar, başında + olabilir',
  'not 1 to 20 digits': '1 ila 20 rakamdan oluşmalı',
  'not 1 to 32 digits, with or without a + in front': '1 ila 32 rakamdan oluşmalı, başında + olabilir',
  'not a number: digits, a + in front, or nothing for off':
    'numara değil: rakamlar, başında + olabilir; boş, kapalı demektir',
  'must name a device that rings; do not disturb refuses all calls':
    'çalan bir cihaz belirtmeli; bütün aramaları "Rahatsız etmeyin" reddeder',
  'must be an extension': 'bir dahili numara olmalı',
  'must name each figure once': 'her göstergeyi bir kez içermeli',
  'must have one tile for each queue': 'her kuyruk için bir kutu içermeli',
  'must name each part once': 'her bölümü bir kez içermeli',
  'must have one threshold for each figure': 'her gösterge için bir eşik içermeli',
  'must name each queue once': 'her kuyruğu bir kez içermeli',
  'must be the id of a board': 'bir pano numarası olmalı',
  'must be 1 to 64 letters and digits, with " ._-" only between them':
    '1 ile 64 arası harf ve rakamdan oluşmalı; " ._-" yalnızca aralarında olabilir',
  'must be the id of a callback': 'bir geri aramanın kimliği olmalı',
  'must be an API key': 'bir API anahtarı olmalı',
  'is allowed with the kind ldap only': 'yalnızca ldap türüyle verilebilir',
  'must be an LDAP attribute': 'bir LDAP özniteliği olmalı',
  'must have at most 10 attributes': 'en çok 10 öznitelik içermeli',
  'must be the id of a source': 'bir kaynak kimliği olmalı',
  'must be the id of a network': 'bir ağ kimliği olmalı',
  'must have at most ten values': 'en çok on değer içermeli',
  'must be a name or address': 'bir ad ya da adres olmalı',
  'the path check is not available with this engine': 'bu santralde yol denetimi yok',
  'no node leads the site at the moment; try again shortly':
    'şu anda siteyi yöneten düğüm yok; birazdan yeniden deneyin',
  'the leading node gave no answer: it is not known whether the request was carried out; a repeat with the same Idempotency-Key is safe':
    'yöneten düğüm yanıt vermedi: isteğin yerine getirilip getirilmediği bilinmiyor; aynı Idempotency-Key ile yinelemek zararsızdır',
  'this node is a standby; send the request to the leading node':
    'bu düğüm yedekte; isteği yöneten düğüme gönderin',
  'this node cannot tell whether another one leads the site now':
    'bu düğüm şu anda siteyi başka birinin yönetip yönetmediğini bilemiyor',
  'the engine is not connected': 'santral bağlı değil',
  'a path check is already running': 'yolların denetimi zaten sürüyor',
  'host: name or address of the site for other machines; the network has no external_address':
    'host: sitenin öteki makineler için adı ya da adresi; ağın external_address değeri yok',
  'SIP listens on {0} only, which no other machine reaches: set OFFHOOK_SIP_LISTEN':
    'SIP yalnızca {0} adresinde dinliyor, ona başka makine ulaşamaz: OFFHOOK_SIP_LISTEN ayarlayın',
  'must be the id of a rule': 'bir kural kimliği olmalı',
  'must not contain a colon or control characters': 'iki nokta ya da denetim karakteri içermemeli',
  'must be the id of a customer': 'bir müşteri kimliği olmalı',
  'must be the id of a display key': 'bir ekran anahtarının numarası olmalı',
  'must be the id of a call or a leg': 'bir çağrının ya da ayağının kimliği olmalı',
  'must be 1 to 32 of 0-9 * #': '0-9 * # karakterlerinden 1 ila 32 tane olmalı',
  'must be up to 15 digits, with or without a + in front': 'en çok 15 rakam olmalı (başında + olabilir)',
  'must be one line of at most 200 characters': 'en çok 200 karakterlik tek bir satır olmalı',
  'must be an address that others can reach': 'başkalarının erişebileceği bir adres olmalı',
  'must have at least four ports': 'en az dört port içermeli',
  'must be 1 to 40 of a-z 0-9 _ -': 'a-z 0-9 _ - karakterlerinden 1 ila 40 tane olmalı',
  'must be 2 to 10 digits, the first not 0': 'ilki 0 olmayan 2 ila 10 rakam olmalı',
  "must be 1 to 80 letters, digits, single spaces or . ' ( ) & / + _ -":
    "1 ila 80 harf, rakam, tek boşluk ya da . ' ( ) & / + _ - olmalı",
  'must have at most 79 bytes in UTF-8': 'UTF-8 olarak en çok 79 bayt olmalı',
  "must be 1 to 64 letters, digits, single spaces or . ' ( ) & / + _ -":
    "1 ila 64 harf, rakam, tek boşluk ya da . ' ( ) & / + _ - olmalı",
  'must be 4 to 12 digits': '4 ila 12 rakam olmalı',
  'must be the name of a sound': 'bir sesin adı olmalı',
  'must be a service number': 'bir hizmet numarası olmalı',
  'must be 1 to 64 of a-z 0-9 . _ @ -': 'a-z 0-9 . _ @ - karakterlerinden 1 ila 64 tane olmalı',
  'must contain each value once': 'her değeri bir kez içermeli',
  'must be 12 hexadecimal digits': '12 onaltılık basamak olmalı',
  'must be a language such as en, fr or pt_BR': 'en, fr veya pt_BR gibi bir dil olmalı',
  'must be 43 of A-Z a-z 0-9 _ -': 'A-Z a-z 0-9 _ - karakterlerinden 43 tane olmalı',
  'must be 1 to 20 of a-z _': 'a-z _ arasından 1 ila 20 karakter olmalı',
  'must be 1 to 40 of 0-9 + * # a-z _ -': '0-9 + * # a-z _ - karakterlerinden 1 ila 40 tane olmalı',
  'must be 1 to 32 of 0-9 * #, with or without a + in front':
    'başında + olsun olmasın 0-9 * # karakterlerinden 1 ila 32 tane olmalı',
  'must be 22 to 128 of A-Z a-z 0-9 _ -': 'A-Z a-z 0-9 _ - karakterlerinden 22 ila 128 tane olmalı',
  'must be one key of 0-9 * #': '0-9 * # tuşlarından biri olmalı',
  'must be a time such as 08:30': '08:30 gibi bir saat olmalı',
  'must be the id of a sound': 'bir sesin kimliği olmalı',
  'must not end in a dot': 'noktayla bitmemeli',
  'must be 1 to 64 of A-Z a-z 0-9 + . _ -': 'A-Z a-z 0-9 + . _ - karakterlerinden 1 ila 64 tane olmalı',
  'must be 1 to 128 printable characters other than ; \\':
    '; ve \\ dışında 1 ila 128 yazdırılabilir karakter olmalı',
  'must have a digit or +, or at least five of X, Z and N':
    'bir rakam ya da + içermeli, ya da X, Z, N harflerinden en az beşini',
  'must be + and 1 to 6 digits, the first not 0': '+ ve ilki 0 olmayan 1-6 rakam olmalı',
  'must be digits and X, Z, N, with . or ! at the end': 'rakamlar ve X, Z, N, sonunda . ya da ! olmalı',
  'must be the id of a feature code, such as agent.login':
    'agent.login gibi bir özellik kodunun kimliği olmalı',
  'must be * or # and 1 to 6 digits': '* ya da # ve ardından 1 ila 6 rakam olmalı',
  'must be a number or a code': 'bir numara ya da kod olmalı',
  'must be 1 to 40 of 0-9 * #, with or without a + in front':
    '0-9 * # karakterlerinden 1 ila 40 tane olmalı (başında + olabilir)',
  'must be up to 32 digits, with or without a + in front': 'en çok 32 rakam olmalı (başında + olabilir)',
  'in braces there can be {number}, {name}, {conversation} and {queue} only':
    'süslü ayraç içinde yalnızca {number}, {name}, {conversation} ve {queue} olabilir',
  'must be an address that begins with https:// or http:// and a host':
    'https:// ya da http:// ve bir makine adıyla başlayan bir adres olmalı',
  'must be a code: lower-case letters, digits, "_" and "-", 64 at most':
    'bir kod olmalı: küçük harfler, rakamlar, "_" ve "-", en çok 64',
  'must be the id of a conversation': 'bir görüşmenin kimliği olmalı',
  'must not contain control characters': 'denetim karakteri içermemeli',
  'must be the id of a note': 'bir notun kimliği olmalı',
  'must be the name of a codec': 'bir kodek adı olmalı',
  'must be a queue': 'bir kuyruk olmalı',
  'must name each column once': 'her sütunu bir kez içermeli',
  'must be the id of an export': 'bir dışa aktarımın numarası olmalı',
  'must be a whole number': 'bir tam sayı olmalı',
  'must be a cursor of this list': 'bu listenin bir imleci olmalı',
  'must name each scope once': 'her kapsamı bir kez içermeli',
  'must be the id of an API key': 'bir API anahtarının numarası olmalı',
  'must be the id of a session': 'bir oturumun numarası olmalı',
  'must have a text': 'bir metin içermeli',
  'must have a text; use null for none': 'bir metin içermeli; hiçbiri için null kullanın',
  'must be a number': 'bir numara olmalı',
  'must be an id': 'bir kimlik numarası olmalı',
  'must be the name of a queue': 'bir kuyruk adı olmalı',
  'must be the id of a caller who waits': 'bekleyen bir arayanın kimliği olmalı',
  'must be the id of a recording': 'bir kaydın kimliği olmalı',
  'must not contain a NUL character': 'NUL karakteri içermemeli',
  'must have at most 1024 bytes': 'en çok 1024 bayt olmalı',
  'must have at least 8 bytes': 'en az 8 bayt olmalı',
  'must be a topic; topics are presence, calls, alerts, parking, queues, agents, history, phonebook/shared, phonebook/mine, trunks, config and system, some with /<extension>, /<queue> or /mine':
    'bir konu olmalı; konular: presence, calls, alerts, parking, queues, agents, history, phonebook/shared, phonebook/mine, trunks, config ve system, bazıları /<extension>, /<queue> ya da /mine ile',
  'expected <seq>:<check> of an event': 'bir olayın <seq>:<check> değeri bekleniyor',
  'must be the id of a webhook': 'bir webhook numarası olmalı',
  'must be a host, an address or a network of at least 8 bits such as 10.1.0.0/16':
    '10.1.0.0/16 gibi en az 8 bitlik bir ağ, bir makine adı ya da bir adres olmalı',
  'must be a host, an address or a network such as 10.1.0.0/16':
    '10.1.0.0/16 gibi bir ağ, bir makine adı ya da bir adres olmalı',
  'must be the number of an apply': 'bir uygulamanın numarası olmalı',
  'must be the number of a version': 'bir sürümün numarası olmalı',
  'the file has {0} bytes': 'dosya {0} bayt',
  'an integer': 'tam sayı',
  null: 'null',
  '{0}: must be * or a list of tags in quotes': '{0}: * ya da tırnak içinde etiketler olmalı',
  'body: a string contains an unpaired UTF-16 surrogate':
    'body: bir metin eşi olmayan bir UTF-16 vekil kodu içeriyor',
  'body: the key "{0}" occurs twice; send it once': 'body: "{0}" anahtarı iki kez var; bir kez gönderin',
  'body: must be nested at most {0} levels deep': 'body: en çok {0} düzey iç içe olmalı',
  'request bodies use all the memory set aside for them; send it again later':
    'istek gövdeleri ayrılan belleğin tamamını kullanıyor; daha sonra yeniden gönderin',
  'your other requests use all the memory one caller may use for bodies; send this one when they are answered':
    'diğer istekleriniz bir istemcinin gövdeler için kullanabileceği belleğin tamamını kullanıyor; onlar yanıtlanınca gönderin',
  'body: more than {0} values; send fewer at once': 'body: {0} değerden çok; bir kerede daha azını gönderin',
  '{0} changes of {1} are already waiting; try again later':
    '{1} için {0} değişiklik zaten bekliyor; daha sonra yeniden deneyin',
  'too many writes are waiting': 'çok sayıda yazma bekliyor',
  'the earlier writes did not finish': 'bundan önceki yazmalar bitmedi',
  '{0} streams of this person or key are open already; close one':
    'bu kişinin ya da anahtarın {0} akışı zaten açık; birini kapatın',
  'topics: you have no access to {0}': 'topics: {0} konusuna erişiminiz yok',
  'topics: {0} is personal and not available to API keys':
    'topics: {0} kişiseldir ve API anahtarlarına açık değildir',
  'topics: {0} is outside the queues and extensions of this API key':
    'topics: {0} bu API anahtarının kuyruk ve dahilileri dışında',
  'this API key lacks the scope {0}, which {1} needs': 'bu API anahtarının {1} için gereken {0} kapsamı yok',
  'binary frame: send each frame as text with one JSON object':
    'ikili çerçeve: her çerçeveyi tek JSON nesnesi içeren metin olarak gönderin',
  'more than 100 frames per second; send fewer': "saniyede 100'den fazla çerçeve; daha az gönderin",
  'too many changes of the subscription; slow down': 'abonelik çok sık değişti; yavaşlayın',
  '{0} commands of this stream are under way; wait for one of them':
    'bu akışın {0} komutu sürüyor; birinin bitmesini bekleyin',
  'topics: more than {0} in one subscription': 'topics: tek abonelikte {0} konudan çok',
  'the snapshot cannot be built now; try again later':
    'anlık durum şu anda oluşturulamıyor; daha sonra yeniden deneyin',
  'the frame is not JSON': 'çerçeve JSON değil',
  'the frame is not a JSON object': 'çerçeve bir JSON nesnesi değil',
  'op: must be subscribe, unsubscribe, ping, pong or command':
    'op: subscribe, unsubscribe, ping, pong ya da command olmalı',
  'Last-Event-ID: must be the id of an event, a whole number':
    'Last-Event-ID: bir olayın id değeri, yani bir tam sayı olmalı',
  'too many tickets were issued and not used; use one or wait until they expire':
    'çok sayıda kullanılmamış bilet var; birini kullanın ya da sürelerinin dolmasını bekleyin',
  'must be the name of a setting': 'bir ayar adı olmalı',
  'must be the key of a connector file': 'bir bağlayıcı dosyasının anahtarı olmalı',
  'must be the id of a connector': 'bir bağlayıcının id değeri olmalı',
  'must be the id of an entry': 'bir kaydın id değeri olmalı',
  'give either file or source': 'file ya da source, yalnızca birini verin',
  'a site has at most {0} connectors; delete one': 'en çok {0} bağlayıcı olabilir; birini silin',
  'source: this connector uses a file of the list': 'source: bu bağlayıcı listedeki bir dosyayı kullanıyor',
  'a test of this connector is under way': 'bu bağlayıcının bir denemesi sürüyor',
  'there is no such entry': 'böyle bir kayıt yok',
  'the entry is {0}, so it needs no retry': 'kayıt {0} durumunda, yeniden denemek gerekmiyor',
  'there is no such connector': 'böyle bir bağlayıcı yok',
  'file: {0}': 'file: {0}',
  'source: {0}': 'source: {0}',
  'body: {0}': 'body: {0}',
  'settings.{0}: {1}': 'settings.{0}: {1}',
  'there is no such webhook': 'böyle bir webhook yok',
  'url: {0} does not resolve to a public address': 'url: {0} herkese açık bir adrese çözümlenmiyor',
  'types: none of them is published on {0}; {1} is on {2}':
    'types: hiçbiri {0} konusunda yayımlanmaz; {1} şu konularda yayımlanır: {2}',
  'cursor: must be the next_cursor of a page of this list with the same other parameters':
    'cursor: bu listenin, diğer parametreleri aynı olan bir sayfasının next_cursor değeri olmalıdır',
  'topics: the owner of this webhook has no access to {0}':
    "topics: bu webhook'un sahibinin {0} konusuna erişimi yok",
  'a site has at most {0} webhooks; delete one': 'en çok {0} webhook olabilir; birini silin',
  'the owner of this webhook no longer exists; delete the webhook and create another':
    "bu webhook'un sahibi artık yok; silin ve yenisini oluşturun",
  'topics: the owner of this webhook has no access to any of them':
    "topics: bu webhook'un sahibinin bunların hiçbirine erişimi yok",
  'a test of this webhook is under way': "bu webhook'un bir denemesi sürüyor",
  'enable this webhook first': "önce bu webhook'u açın",
  'a replay is under way, up to {0}': '{0} konumuna kadar yeniden gönderim sürüyor',
  'from: must be at most {0}, the last event that was delivered':
    'from: en çok {0}, yani son iletilen olay olabilir',
  'url: must be a URL with its scheme, such as https://example.com/calls':
    'url: https://example.com/calls gibi, şemasıyla birlikte bir URL olmalı',
  'url: the scheme must be http or https': 'url: şema http ya da https olmalı',
  'url: must not contain credentials': 'url: kimlik bilgisi içermemeli',
  'address: must not contain credentials': 'address: kimlik bilgisi içermemeli',
  'url: must not contain a space or a backslash': 'url: boşluk ya da ters eğik çizgi içermemeli',
  'url: must not contain a fragment (#), which is never sent': 'url: hiç gönderilmeyen # bölümünü içermemeli',
  'url: write the host as {0}': 'url: makine adını {0} olarak yazın',
  'url: requests to port {0} are not allowed': 'url: {0} portu çağrılmaz',
  'url: the host must not end in a full stop': 'url: makine adı noktayla bitmemeli',
  'url: {0} is not a public address; an administrator can allow it in the settings of webhooks':
    'url: {0} herkese açık bir adres değil; bir yönetici webhook ayarlarında buna izin verebilir',
  'this path accepts only WebSocket: send an upgrade request':
    'bu yol yalnızca WebSocket kabul eder: yükseltme isteği gönderin',
  'the WebSocket handshake is not valid; it needs Sec-WebSocket-Version 13 and a Sec-WebSocket-Key':
    'WebSocket el sıkışması geçerli değil; Sec-WebSocket-Version 13 ve bir Sec-WebSocket-Key gerekir',
  'ticket: unknown, already used or older than 30 seconds; request a new one':
    'ticket: bilinmiyor, kullanılmış ya da 30 saniyeden eski; yenisini isteyin',
  'Origin: a session cookie is accepted only from the origin of this service; other origins use a bearer token':
    'Origin: oturum çerezi yalnızca bu hizmetin kökeninden kabul edilir; diğer kökenler bearer belirteci kullanır',
  'this session was not confirmed in the last 5 minutes: POST /api/v1/session/confirm, then send the request again':
    'bu oturum son 5 dakikada onaylanmadı: POST /api/v1/session/confirm gönderin, sonra isteği yineleyin',
  'the upload is larger than {0} bytes': 'yükleme {0} bayttan büyük',
  'the body ended early': 'gövde erken bitti',
  'Content-Type must be audio/… or application/octet-stream':
    'Content-Type audio/… ya da application/octet-stream olmalı',
  'Content-Type must be application/json in UTF-8': 'Content-Type UTF-8 application/json olmalı',
  'Content-Type must be application/json or {0} in UTF-8':
    'Content-Type UTF-8 application/json ya da {0} olmalı',
  'Content-Encoding is not supported; send the body uncompressed':
    'Content-Encoding desteklenmiyor; gövdeyi sıkıştırmadan gönderin',
  'the body is larger than {0} bytes': 'gövde {0} bayttan büyük',
  'body: must be valid UTF-8': 'body: geçerli UTF-8 olmalı',
  'body: the field "{0}" occurs twice; send it once': 'body: "{0}" alanı iki kez var; bir kez gönderin',
  'body: the field constructor.prototype is not allowed': 'body: constructor.prototype alanına izin verilmez',
  'body: the field __proto__ is not allowed': 'body: __proto__ alanına izin verilmez',
  'body: the percent-encoding is not valid': 'body: yüzde kodlaması geçerli değil',
  'there is no such path; this address has /metrics, /healthz and /readyz':
    'böyle bir yol yok; bu adreste /metrics, /healthz ve /readyz var',
  'the service failed': 'hizmet başarısız oldu',
  'this site requires a second factor: POST /api/v1/session/otp, then /api/v1/session/otp/confirm':
    'bu yer ikinci doğrulama istiyor: POST /api/v1/session/otp, sonra /api/v1/session/otp/confirm',
  'this path accepts no WebSocket; the event stream is /api/v1/stream':
    'bu yol WebSocket kabul etmez; olay akışı /api/v1/stream yolundadır',
  'Origin: this origin is not allowed; an administrator can add it to the allowed origins':
    'Origin: bu köken izinli değil; bir yönetici onu izinli kökenlere ekleyebilir',
  '"{0}" is not allowed in the address, which logs keep; send it in a header':
    '"{0}" adreste olamaz, çünkü adresler günlüklere yazılır; bir başlıkta gönderin',
  'Idempotency-Key: must be 1 to 255 printable characters without spaces':
    'Idempotency-Key: boşluksuz 1 ila 255 yazdırılabilir karakter olmalı',
  'the results of repeated requests cannot be stored now; try again later':
    'yinelenen isteklerin sonuçları şu anda saklanamıyor; daha sonra deneyin',
  'Idempotency-Key: the first attempt was interrupted or its stored reply is unreadable, so its result is unknown; check the state, then use a new key':
    'Idempotency-Key: ilk deneme yarıda kaldı ya da saklanan yanıtı okunamıyor, bu yüzden sonucu bilinmiyor; durumu denetleyin, sonra yeni bir anahtar kullanın',
  'Idempotency-Key: already used with another body; use a new key':
    'Idempotency-Key: başka bir gövdeyle kullanıldı; yeni bir anahtar kullanın',
  'action: no command has this name; see the commands of the stream in /api/v1/asyncapi.json':
    'action: bu adda komut yok; akışın komutları /api/v1/asyncapi.json belgesinde',
  'data: must be an object': 'data: bir nesne olmalı',
  'the body is larger than this path takes': 'gövde bu yolun kabul ettiğinden büyük',
  'body: an empty body is not valid JSON; send at least {}':
    'body: boş gövde geçerli JSON değildir; en az {} gönderin',
  'this is not an HTTP/1.1 request': 'bu bir HTTP/1.1 isteği değil',
  'this path accepts only SIP over WebSocket: send an upgrade request':
    'bu yol yalnızca WebSocket üzerinden SIP kabul eder: yükseltme isteği gönderin',
  'Sec-WebSocket-Protocol must name "sip"': 'Sec-WebSocket-Protocol "sip" içermeli',
  'too many connections; try again later': 'çok sayıda bağlantı; daha sonra yeniden deneyin',
  'the connection was closed meanwhile': 'bağlantı bu arada kapandı',
  'the engine takes no SIP connection now: {0}': 'santral şu anda SIP bağlantısı kabul etmiyor: {0}',
  'is not accepted by this tool': 'burada geçerli değil',
  'the answer has {0} bytes, more than {1}; read single objects instead':
    'yanıt {0} bayt, {1} bayttan çok; bunun yerine nesneleri tek tek okuyun',
  'the answer has {0} bytes, more than {1}; narrow it by {2}':
    'yanıt {0} bayt, {1} bayttan çok; şununla daraltın: {2}',
  'a cookie is not accepted here; send the API key or session as a bearer token':
    'burada çerez kabul edilmez; API anahtarını ya da oturumu bearer token olarak gönderin',
  '{0} messages of {1} are under way; wait for one of them':
    '{1} için {0} ileti işleniyor; birinin bitmesini bekleyin',
  'a session only reads here; use an API key with the scope {0}':
    'oturum burada yalnızca okur; {0} kapsamlı bir API anahtarı kullanın',
  'arguments: {0} characters are more than a person can confirm; send at most {1}':
    'arguments: {0} karakter bir insanın onaylayabileceğinden fazla; en çok {1} gönderin',
  'must begin with a single /; it is appended to `base`': 'tek bir / ile başlamalı; `base` sonuna eklenir',
  'must be the name of a header': 'bir başlık adı olmalı',
  'needs exactly one of get, post, put, patch and delete, with its path':
    'get, post, put, patch ve delete içinden tam birini, yoluyla birlikte içermeli',
  'must be the name of a form field': 'bir form alanının adı olmalı',
  '`attach` cannot use `get`': '`attach`, `get` kullanamaz',
  'needs either `file` or `body`, not both': '`file` ya da `body` içermeli, ikisini birden değil',
  'needs `url` or `show`': '`url` veya `show` gerekir',
  '`hide` needs `show`': '`hide` için `show` gerekir',
  'must be a number format': 'bir numara biçimi olmalı',
  '`once: find` needs `find`, and `find` needs `once: find`':
    '`once: find` için `find`, `find` için `once: find` gerekir',
};
