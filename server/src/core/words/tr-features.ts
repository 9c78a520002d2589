/** Refusals of agents, calls, history and what else people work with in Turkish. */
export const features: Readonly<Record<string, string>> = {
  'must be the name of a node': 'bir düğüm adı olmalı',
  'there is no node {0}; there are: {1}': '{0} adlı düğüm yok; olanlar: {1}',
  '{0} is being drained: end the drain first': '{0} boşaltılıyor: önce bunu bitirin',
  '{0} leads the site already': '{0} siteyi zaten yönetiyor',
  '{0} cannot lead the site: it must be a standby with a running engine':
    '{0} siteyi yönetemez: santrali çalışan bir yedek değil',
  '{0} is a web node and needs no drain: stop its service, and its clients connect to another node':
    '{0} bir web düğümü: hizmetini durdurun, istemcileri başka düğüme geçer',
  '{0} is a home node and cannot be drained: its people have no phones while its service is stopped':
    '{0} kendi kişilerine sahip: hizmeti durdurulduğunda telefonları olmaz',
  '{0} leads the site, and no standby can take it': 'siteyi {0} yönetiyor ve yönetebilecek bir yedek yok',
  '{0} is not being drained': '{0} boşaltılmıyor',
  'logout_token: not a logout token of the provider for this site, expired, or received before':
    'logout_token: sağlayıcının bu hizmet için bir oturum kapatma belirteci değil, süresi dolmuş ya da daha önce alınmış',
  'too many refused logouts; wait a moment': 'çok fazla reddedilen oturum kapatma; biraz bekleyin',
  'too many logouts at once; try again shortly':
    'aynı anda çok fazla oturum kapatma; birazdan yeniden deneyin',
  'this site has no sign-in with the company account': 'burada şirket hesabıyla oturum açma yok',
  'this code is unknown, was used, or has expired': 'bu kod bilinmiyor, kullanılmış ya da süresi dolmuş',
  'too many codes are open; try again in two minutes':
    'çok fazla açık kod var; iki dakika sonra yeniden deneyin',
  'this person has a second factor and must create the code in their own account':
    'bu kişinin ikinci doğrulaması var; kodu kendi hesabında oluşturur',
  'extension: this person has no password, so a sign-in code cannot be created':
    'extension: bu kişinin parolası yok',
  'the engine adapter failed: {0}': 'santral bağlantısı başarısız oldu: {0}',
  'the engine did not confirm within {0} s: {1}': 'santral {0} saniye içinde onaylamadı: {1}',
  '{0} was removed from {1} meanwhile': '{0} bu arada {1} kuyruğundan çıkarıldı',
  'you may not see the agent {0}': '{0} temsilcisini göremezsiniz',
  'this network is not blocked': 'bu ağ engelli değil',
  '{0} is not an agent': '{0} temsilci değil',
  '{0} actions of {1} are still under way': '{1} için {0} işlem hâlâ sürüyor',
  'you may not change the agent {0}': '{0} temsilcisini değiştiremezsiniz',
  '{0} is not in wrap-up in a queue of this API key':
    '{0} bu anahtarın kuyruklarından birinde çağrı sonrası işlemde değil',
  '{0} is not a member of any queue': '{0} hiçbir kuyruğun üyesi değil',
  '{0} is not a member of {1}': '{0}, {1} kuyruğunun üyesi değil',
  '{0} is not an agent of any queue': '{0} hiçbir kuyruğun temsilcisi değil',
  '{0} is not an agent of {1}': '{0}, {1} kuyruğunun temsilcisi değil',
  '{0} belongs to {1} by configuration and cannot leave; nothing was changed':
    '{0} yapılandırma gereği {1} üyesidir ve ayrılamaz; hiçbir şey değişmedi',
  'the membership in {0} is being restored': '{0} üyeliği geri yükleniyor',
  '{0} is not in wrap-up': '{0} çağrı sonrası işlemde değil',
  'reason: {0} needs the level supervisor': '{0} nedenini yalnızca bir yönetici verebilir',
  'this pause reason does not exist; there are: {0}': 'böyle bir mola nedeni yok; olanlar: {0}',
  'queue: expected the name or the number of a queue': 'queue: bir kuyruğun adı ya da numarası bekleniyor',
  'there is no such action; there are: {0}': 'böyle bir işlem yok; olanlar: {0}',
  'queue: toggle_queue needs a queue': 'queue: toggle_queue için bir kuyruk gerekir',
  'login: toggle_queue needs 1 or 0': 'login: toggle_queue için 1 ya da 0 gerekir',
  '{0}; not all changes could be undone': '{0}; her şey geri alınamadı',
  'extend_seconds: a wrap-up lasts {0} s at most':
    'extend_seconds: çağrı sonrası işlem en çok {0} saniye sürer',
  'another API key is called {0}': '{0} adında başka bir API anahtarı var',
  'queues: there is no queue {0}': 'queues: {0} kuyruğu yok',
  'extensions: {0} of a key limited to queues needs named extensions; an empty list means none':
    'extensions: kuyruklarla sınırlı bir anahtarda {0} için dahililer belirtilmelidir; boş liste hiçbiri demektir',
  'extensions: there is no extension {0}': 'extensions: {0} dahilisi yok',
  'expires_at: must be in the future': 'expires_at: gelecekte olmalı',
  'a site has at most {0} API keys; revoke one': 'en çok {0} API anahtarı olabilir; birini iptal edin',
  'there is no such callback': 'böyle bir geri arama yok',
  'the callback is closed': 'geri arama kapatıldı',
  '{0} has already taken this callback': 'bu numarayı {0} geri arıyor',
  'there is no such customer': 'böyle bir müşteri yok',
  'the customer was changed meanwhile': 'müşteri bu arada değiştirildi',
  'changing a shared customer needs the level supervisor':
    'ortak müşterileri yalnızca yöneticiler değiştirir',
  '{0}: this field comes from the connected system; change it there':
    '{0}: bağlı sistemden geliyor; orada değiştirin',
  'the customer comes from a connected system; delete it there, or the connector or source':
    'müşteri bağlı bir sistemden geliyor; onu orada, bağlayıcıyı ya da kaynağı silin',
  'a phonebook has at most {0} sources; delete one':
    'bir telefon rehberinin en çok {0} kaynağı olur; birini silin',
  'the API key is not valid': 'API anahtarı geçerli değil',
  'address: write it as ldaps://ldap.example.com': 'address: ldaps://ldap.example.com biçiminde yazın',
  'ldap.filter: must be an LDAP filter': 'ldap.filter: bir LDAP süzgeci değil',
  'ldap.base: write a distinguished name such as ou=people,dc=example,dc=com':
    'ldap.base: ou=people,dc=example,dc=com gibi bir ayırt edici ad yazın',
  'ldap.ca: must contain only certificates in PEM': 'ldap.ca: yalnızca PEM biçiminde sertifika verin',
  'ldap: is allowed with the kind ldap only': 'ldap: yalnızca ldap türüyle verilebilir',
  'there is no such source': 'böyle bir kaynak yok',
  'password: is needed again because the address changes': 'password: adres değişiyor, yeniden girin',
  'id: the source is disabled; enable it first': 'id: kaynak kapalı; önce açın',
  'number: write it with its country, such as +4930901820': 'number: ülke koduyla yazın, örneğin +4930901820',
  'id: the connector is disabled or has an error; enable or correct it first':
    'id: bağlayıcı kapalı ya da bozuk; önce onu düzeltin',
  'id: the file of this connector creates no customers': 'id: bu bağlayıcının dosyası müşteri oluşturmuyor',
  'a customer with this number is being created': 'bu numaralı bir müşteri şu anda oluşturuluyor',
  'id: the connector is disabled, or its file lists no customers':
    'id: bağlayıcı kapalı ya da dosyası müşteri listelemiyor',
  'the message has no valid signature of this connector': 'ileti, bu bağlayıcıya ait olduğunu kanıtlamıyor',
  'too many messages; send them later': 'çok fazla ileti; daha sonra gönderin',
  'body: a note has 2000 characters at most': 'body: bir not en çok 2000 karakterdir',
  'the system returns no e-mail address for its user {0}': 'sistem, kullanıcısı {0} için e-posta bildirmiyor',
  'there is no person {0}': '{0} diye bir kişi yok',
  'Content-Type must be application/json or application/x-www-form-urlencoded':
    'Content-Type, application/json ya da application/x-www-form-urlencoded olmalıdır',
  'settings.{0}: is needed again because the address changes':
    'settings.{0}: adres değişiyor, bu gizli değeri yeniden girin',
  'shared: a shared customer cannot become personal': 'shared: ortak bir müşteri ortak kalır',
  'body: the row that ends at line {0} is longer than {1} characters; a quote may not be closed':
    'body: {0}. satırda biten kayıt {1} karakterden uzun; bir tırnak kapatılmamış olabilir',
  'body: line {0} has a quote that is not closed or is inside a value; double each quote inside quotes':
    'body: {0}. satırdaki tırnaklar kapatılmamış ya da bir değerin içinde; tırnak içinde tırnağı iki kez yazın',
  'body: the heading has more than {0} columns': 'body: başlıkta {0} sütundan fazla var',
  'body: the first line has no column for names; begin with a heading such as name,company,number_1,label_1,email_1':
    'body: ilk satırda ad sütunu yok; name,company,number_1,label_1,email_1 gibi bir başlıkla başlayın',
  'body: a file has at most {0} rows; send it in parts':
    'body: bir dosyada en çok {0} satır olur; parçalar halinde gönderin',
  'body: the file is empty': 'body: dosya boş',
  'body: the file is not in {0}; save it as UTF-8, or name its character set in encoding':
    'body: dosya {0} değil; UTF-8 olarak kaydedin ya da karakter kümesini encoding ile belirtin',
  'body: must be a text file without NUL characters': 'body: dosyada NUL karakteri var; metin dosyası değil',
  'body: there is no BEGIN:VCARD; send a vCard file of version 3.0 or 4.0':
    'body: BEGIN:VCARD yok; sürümü 3.0 ya da 4.0 olan bir vCard dosyası gönderin',
  'list: an API key has no personal customers': 'list: API anahtarının kişisel müşterileri yoktur',
  'Content-Type must be text/csv or text/vcard': 'Content-Type text/csv ya da text/vcard olmalı',
  'shared: an API key has no personal customers': 'shared: bir API anahtarının kişisel müşterileri olmaz',
  'owner: there is no extension {0}': 'owner: {0} dahilisi yok',
  'numbers.{0}: this number is listed twice': 'numbers.{0}: bu numara iki kez yazılmış',
  'a site has at most {0} customers, a person {1} personal ones':
    'bir yerleşkenin en çok {0}, bir kişinin en çok {1} kişisel müşterisi olur',
  'the board has no such display key': 'panonun böyle bir ekran anahtarı yok',
  'queues, extensions: a display key takes these from its wallboard; change the wallboard':
    'bir ekran anahtarının neye ulaştığını panosu belirler',
  'managing the display keys of a board needs the level supervisor': 'panoyu ekranlara yöneticiler verir',
  'shared: sharing a board needs the level supervisor': 'panoyu yalnızca yöneticiler paylaşır',
  "layout.tiles.{0}.queue: must be one of the board's queues":
    'layout.tiles.{0}.queue: panonun kuyruklarından biri değil',
  'queues: adding queues to a board with display keys needs the level supervisor':
    'bu panoyu ekranlar gösteriyor: ona yalnızca yöneticiler kuyruk ekler',
  'layout: showing more of the callers on a board with display keys needs the level supervisor':
    'bu panoyu ekranlar gösteriyor: arayanlar hakkında daha fazlasını yalnızca yöneticiler göstertir',
  'a site has at most {0} boards, a person {1}': 'en çok {0} pano olabilir, bir kişinin en çok {1}',
  'another operation on this call is under way': 'bu çağrıda başka bir işlem sürüyor',
  'the same for this leg is under way': 'bu ayak için aynı işlem sürüyor',
  '{0} calls were placed today already': 'bugün zaten {0} arama yapıldı',
  '{0} different countries were called today already': 'bugün zaten {0} ayrı ülke arandı',
  'calls from the API are switched off': 'API üzerinden arama kapalı',
  '{0} may not call {1}': '{0} düzeyi şunları arayamaz: {1}',
  '{0} calls were placed in the last minute': 'son bir dakikada {0} arama yapıldı',
  '{0} may not call numbers of this class of route': '{0} bu yol sınıfındaki numaraları arayamaz',
  'this number may not be shown as the caller': 'bu numara arayan olarak gösterilemez',
  'no route of this site leads to {0}': 'hiçbir yol {0} numarasına gitmiyor',
  '{0} operations of {1} are under way': '{1} için {0} işlem sürüyor',
  'the operation failed': 'işlem başarısız oldu',
  'the service stopped before the outcome was known': 'sonuç bilinmeden hizmet durdu',
  'from: is needed with an API key: the extension whose devices ring':
    'from: bir API anahtarı kimin cihazlarının çalacağını belirtmelidir',
  'from: there is no extension {0}': 'from: {0} dahilisi yok',
  'no device of {0} is registered': '{0} dahilisinin kayıtlı cihazı yok',
  'no {0} device of {1} is registered': '{1} dahilisinin kayıtlı {0} cihazı yok',
  'no device of {0} rang': '{0} dahilisinin hiçbir cihazı çalmadı',
  'no device of {0} took the call': '{0} dahilisinin hiçbir cihazı çağrıyı almadı',
  'to: a parking number can only be the target of a transfer': 'to: park numarası yalnızca aktarım alır',
  'nothing of this call rings now': 'bu çağrının çalan bir cihazı yok',
  'the ringing leg is a device of the caller itself; it cannot be picked up':
    'çalan, arayanın kendi cihazı; onu kimse aramıyor',
  '{0} is at another engine than this call': '{0} bu çağrıdan başka bir motorda',
  '{0} is in this call already': '{0} zaten bu çağrıda',
  'this call is neither on hold nor parked': 'bu çağrı ne beklemede ne de parkta',
  'no leg of this call is talking now; listening needs one':
    'bu çağrıda şu anda dinleyebileceğiniz biri konuşmuyor',
  'your devices already ring to listen, or listen to another call':
    'kendi cihazlarınız dinlemek için çalıyor ya da zaten başka bir çağrıyı dinliyor',
  'this leg has left the call': 'bu çağrı bu ayak olmadan sürüyor',
  'nothing rings at {0} now': '{0} dahilisinde şu anda çalan bir şey yok',
  'leg_id: is needed, because no leg of this call is yours':
    'leg_id: hangi ayak olduğunu belirtin; bu çağrının hiçbir ayağı sizin değil',
  'this leg is not talking to anyone now': 'bu ayak şu anda kimseyle konuşmuyor',
  'this leg is not recorded': 'bu ayak kaydedilmiyor',
  'the session ended': 'oturum sona erdi',
  '{0} of your requests wait for exports already': 'zaten {0} isteğiniz dışa aktarımları bekliyor',
  'a leg can have at most {0} recordings': 'bu ayağın {0} kayıttan çoğu oldu',
  'the other side of this leg cannot be parked': 'karşı tarafta park edilebilecek biri yok',
  'the other side is on hold already': 'karşı taraf zaten beklemede',
  'the other side has put you on hold': 'karşı taraf sizi beklemeye aldı',
  'the call is held at the device; retrieve it there': 'cihazda beklemeye alındı: oradan geri alın',
  'nobody is on hold': 'beklemede kimse yok',
  'this leg is not answered': 'bu ayak yanıtlanmadı',
  'the rule of the site records this call; pause the recording instead':
    'bu çağrı kural gereği kaydediliyor; onun yerine duraklatın',
  '{0} did not answer': '{0} yanıt vermedi',
  'the transfer is {0}': 'aktarımın durumu: {0}',
  'an attended transfer of this leg is under way; complete or cancel it first':
    'bu ayağın danışmalı aktarımı sürüyor; önce onu tamamlayın ya da iptal edin',
  'to: a parking number can only be the target of a blind transfer':
    'to: park numarası yalnızca doğrudan aktarım alır',
  'a display key can read its own board only': 'bir ekrana yalnızca kendi panosu gösterilir',
  'offset: cannot be used with cursor': 'offset: cursor ile birlikte kullanılamaz',
  'too many of your exports of customers are being sent; start this one after they are done':
    'size çok sayıda müşteri dışa aktarımı gönderiliyor; bunu onlar bitince başlatın',
  'too many exports of customers are being sent; try again later':
    'çok sayıda müşteri dışa aktarımı gönderiliyor',
  'too many exports are waiting': 'çok sayıda dışa aktarım bekliyor',
  '{0} of your exports are waiting or running': '{0} dışa aktarımınız bekliyor ya da sürüyor',
  'you have {0} files; delete one of them': '{0} dosyanız var; birini silin',
  'the export is {0}': 'dışa aktarımın durumu: {0}',
  'you no longer have access to the data in this file': 'bu dosyanın içindekileri artık göremezsiniz',
  'a conversation has {0} notes at most': 'bir görüşmenin en çok {0} notu olur',
  'only those who talked in the conversation can add a note or set its outcome':
    'yalnızca görüşmede konuşanlar not ekleyebilir veya sonucu belirleyebilir',
  "changing another person's note needs the level supervisor":
    'başkasının notu için supervisor düzeyi gerekir',
  'only a participant of the call can report its quality':
    'bir çağrının sesini yalnızca içinde olan değerlendirir',
  'a conversation has {0} reports at most, and {1} of one person':
    'bir görüşmenin en çok {0} raporu olur, bir kişiden {1}',
  '{0}; read the changes from the beginning': '{0}; değişiklikleri baştan okuyun',
  'cursor: cannot be used with since or epoch': 'cursor: since ya da epoch ile birlikte kullanılamaz',
  'cursor: must be a cursor of this list': 'cursor: bu listenin bir imleci olmalı',
  'cursor: belongs to another epoch': "cursor: başka bir epoch'a ait",
  'epoch: must be {0}, the current one': 'epoch: şimdi {0}',
  '{0}: the newest change is {1}': '{0}: en yeni değişiklik {1}',
  'own: an API key has no view of its own': 'own: bir API anahtarının kendi görünümü yoktur',
  '{0}: expected an RFC 3339 time such as 2026-11-21T09:00:00Z':
    '{0}: 2026-11-21T09:00:00Z gibi bir RFC 3339 zamanı bekleniyor',
  'to: must not be before from': 'to: from değerinden önce',
  'extension: an API key has no calls of its own; name an extension':
    'extension: bir API anahtarının kendi çağrıları yoktur; bir dahili belirtin',
  "another extension's calls need the level supervisor":
    'başka bir dahilinin çağrıları için supervisor düzeyi gerekir',
  "another extension's calls need a key that has this extension":
    'başka bir dahilinin çağrıları için o dahiliyi kapsayan bir anahtar gerekir',
  'call_keys: hide needs the call_key of each call': 'call_keys: hide her çağrının call_key değerini ister',
  'call_keys: must have at most 500 entries': 'call_keys: en çok 500',
  'there is no such action; there are: hide, clear': 'böyle bir işlem yok; olanlar: hide, clear',
  'presence needs an extension, and you have none': 'dahilisi olmayanın durumu da yoktur',
  'expires_at: must be at most 366 days ahead': 'expires_at: 366 günden daha ileride',
  'expires_at: needs an activity or a note to expire': 'expires_at: bitebilecek bir durum verilmedi',
  'extension: it must have at least two digits': 'extension: en az iki rakam olmalı',
  'number: must be a telephone number': 'number: bu bir numara olarak okunamıyor',
  'there is no such erasure': 'böyle bir silme yok',
  'too many erasures and exports are waiting; try again later': 'bunlardan çok sayıda bekliyor',
  'reason: must not contain the data to erase, because the reason is kept':
    'reason: silinecek olanı içeriyor ve kendisi saklanıyor',
  'there is no queue {0}': '{0} kuyruğu yok',
  'this key may not change the agent {0}': 'bu anahtar {0} temsilcisini değiştiremez',
  'no caller with this id waits in {0}': '{0} kuyruğunda bu kimlikle bekleyen yok',
  '{0} changes of {1} are under way': '{1} için {0} değişiklik sürüyor',
  'the caller no longer waits': 'arayan artık beklemiyor',
  'the caller no longer waits in this queue': 'arayan artık orada beklemiyor',
  '{0} recordings are being sent to you already': 'size zaten {0} kayıt gönderiliyor',
  'the recording is not finished yet': 'hâlâ kaydediliyor',
  'the engine stored no file for this recording': 'santral bunun dosyasını bırakmadı',
  'the recording was deleted at the end of its retention time': 'süresi doldu: kural gereği silindi',
  'the recording was deleted': 'silindi',
  'the file is on node {0} only: recordings of this node can be played if OFFHOOK_SHARED_FILES is set':
    'dosya yalnızca {0} düğümünde: OFFHOOK_SHARED_FILES ayarlanırsa bu düğümün kayıtları dinlenebilir',
  'the file is on node {0}, which does not lead the site now':
    'dosya, siteyi şu anda yönetmeyen {0} düğümünde',
  'the file is damaged: it has {0} bytes, {1} were stored':
    'dosya bozuk: {0} bayt, oysa {1} bayt saklanmıştı',
  'dnd_enabled: expected true or false': 'dnd_enabled: true ya da false bekleniyor',
  'calls of {0} may not be forwarded to {1}': '{0} dahilisinin çağrıları {1} numarasına yönlendirilemez',
  'calls cannot be forwarded to {0}': 'çağrılar şuraya yönlendirilmez: {0}',
  'desk phone': 'masa telefonu',
  softphone: 'bilgisayar telefonu',
  'mobile phone': 'cep telefonu',
  'allowed_phone_mode: {0} has no {1}': 'allowed_phone_mode: {0} dahilisinde yok: {1}',
  'you have no extension': 'dahiliniz yok',
  'you may not change the features of {0}': '{0} dahilisinin ayarları sizin değil',
  'no person has the extension {0}': '{0} kimsenin dahilisi değil',
  '{0} has no such session': '{0} için böyle bir oturum yok',
  'switch your own second factor off by POST /api/v1/session/otp/disable with your password':
    'kendinizinki için parolanız gerekir: POST /api/v1/session/otp/disable',
  'too many reports are being built; try again later': 'çok sayıda rapor hazırlanıyor',
  'a display key can read the present day only': 'bir ekrana yalnızca bugün gösterilir',
  'day: give either day, or from and to': 'day: ya bir gün ya da from ile to',
  'day: expected a day from 2000-01-02 to 2099-12-31':
    'day: 2000-01-02 ile 2099-12-31 arasında bir gün bekleniyor',
  'from: give both from and to, or neither': 'from: from ile to birlikte verilir',
  '{0}: expected a time from 2000 to 2099': '{0}: 2000 ile 2099 arasında bir zaman bekleniyor',
  '{0}: must be at a full quarter of an hour': '{0}: çeyrek saatlerden biri bekleniyor',
  'to: expected a time after from': 'to: from değerinden sonra bir zaman bekleniyor',
  'to: expected at most {0} days after from': 'to: from değerinden en çok {0} gün sonrası bekleniyor',
  'interval: expected a multiple of 900 that divides a day':
    "interval: 900'ün katı olup günü tam bölen bir sayı bekleniyor",
  'interval: a series has at most 92 days': 'interval: bir dizi en çok 92 gündür',
  'interval: a series has at most {0} intervals; take longer ones':
    'interval: bir dizide en çok {0} aralık olur; daha uzun aralık seçin',
  'internal numbers': 'dahili numaralar',
  'emergency numbers': 'acil numaralar',
  'national numbers': 'ulusal numaralar',
  'mobile numbers': 'cep numaraları',
  'international numbers': 'uluslararası numaralar',
  'premium numbers': 'ücretli servis numaraları',
  'feature code numbers': 'özellik kodları',
  'a number of no known kind': 'türü bilinmeyen bir numara',
  'match: an agent can only block single numbers; other rules need the level supervisor':
    'temsilciler yalnızca tek numaraları engeller; diğer kurallar için yönetici gerekir',
  'a rule with the other action has this number; delete it first':
    'bu numara için karşıt bir kural var; önce onu silin',
  'there is no such rule': 'böyle bir kural yok',
  'match: anonymous callers have no number and can only be blocked':
    'match: gizli arayanların numarası yoktur, yalnızca engellenebilirler',
  'number: is missing': 'number: eksik',
  'number: a prefix must begin with +, 00 or the national prefix of the site, and have at most 15 digits':
    'number: ön ek +, 00 veya ülkenin şehirlerarası önekiyle başlar ve en fazla 15 hanelidir',
  'a site has at most {0} rules for callers': 'bir sitede arayanlar için en fazla {0} kural olabilir',
  'the configuration of a phone contains passwords; fetch it over HTTPS':
    'telefon yapılandırmasını HTTPS ile alır: içinde parolalar vardır',
  'there is no such file for this phone': 'burada bu telefon için bir şey yok',
  'the applied configuration has no phone {0}': '{0} adlı uygulanmış telefon yok',
  'the phone {0} is bound to the device {1}; a new token allows another device':
    '{0} telefonu {1} cihazıdır; yeni bir belirteçle başka bir cihaz olabilir',
  'no phone with this MAC address is waiting at this network address: another device has asked with the same MAC address':
    'bu ağ adresinde bu MAC adresiyle bekleyen telefon yok: bu arada başka bir cihaz onunla istekte bulundu',
  'no phone with this MAC address is waiting': 'bu MAC adresiyle bekleyen telefon yok',
  'this phone cannot be asked to fetch: it has no endpoint or its vendor has no such request':
    'bu telefona gönderilebilecek bir istek yok',
  'too many requests for files that do not exist': 'var olmayan dosyalar için çok fazla istek',
  'the phone {0} is not a shared phone': '{0} telefonu ortak değil: orada kimse oturum açmaz',
  'no phone can switch a time condition {0}': 'hiçbir telefon {0} zaman koşulunu değiştiremez',
  'the endpoint must be a shared phone': 'ortak bir telefon değil',
  'the endpoint or the event is not valid': 'uç nokta ya da olay geçerli değil',
  'private_key: must be a readable private key in PEM': 'private_key: okunamıyor',
  'private_key: must be an RSA key': 'private_key: RSA anahtarı değil',
  'private_key: must be a P-256 key': 'private_key: P-256 anahtarı değil',
  'the site has no such push service': 'bu sitede böyle bir push hizmeti yok',
  'registering an app needs the session of a person': 'yalnızca bir kişinin oturumunun uygulaması vardır',
  'must be a token of a push service': 'bir push hizmetinin belirteci olmalı',
  'must be hexadecimal for APNs': 'APNs için onaltılık olmalı',
  'must be a key in PEM': 'PEM biçiminde anahtar olmalı',
  'must be letters, digits and "._:-", beginning with a letter or digit':
    'harf, rakam ve "._:-" karakterlerinden oluşmalı, harf ya da rakamla başlamalı',
  'this is not a channel that waits for a mobile device': 'bu, mobil cihazı bekleyen bir kanal değil',
  'must be an address': 'adres olmalı',
};
