"""`redact` removes secrets, and leaves ordinary commands unchanged."""

from __future__ import annotations

import string

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from observations.privacy.redact import PLACEHOLDER, redact
from observations.privacy.redact_frame import redact_series

ALPHANUMERIC = string.ascii_letters + string.digits
WORD_SECRETS = st.text(ALPHANUMERIC, min_size=6, max_size=40)
SHELL_SAFE_SECRETS = st.text(ALPHANUMERIC + "_+/=.,:@%^-", min_size=6, max_size=40).filter(
    lambda s: s[0] in ALPHANUMERIC and s[-1] in ALPHANUMERIC
)
QUOTED_SECRETS = st.text(ALPHANUMERIC + " ;|&<>()#*?[]{}~_+/.,:@%^-", min_size=6, max_size=40).filter(
    lambda s: s[0] in ALPHANUMERIC and s[-1] in ALPHANUMERIC
)

WORD_PLACES = r"""
mysql -u root -p{} shop
mysql -u root -p {} shop
mysqldump --password={} -u root shop > shop.sql
mysqladmin --user=root --password {} status
mariadb -uroot -p{}
sshpass -p {} ssh ada@host
sshpass -p{} scp a b:
PGPASSWORD={} psql -h db shop
env PGPASSWORD={} psql
PGPASSWORD={} PGUSER=ada psql -c 'select 1'
export AWS_SECRET_ACCESS_KEY={}
export AWS_SESSION_TOKEN={} AWS_REGION=eu-west-1
export API_KEY={}; ./run
set -gx GITHUB_TOKEN {}
set -x OPENAI_API_KEY {}
setenv SECRET_KEY {}
$env:API_TOKEN = "{}"
declare -x DB_PASSWORD={}
MY_APP_SECRET={} ./server --port 80
DJANGO_SECRET_KEY={} python manage.py runserver
docker run -e MYSQL_ROOT_PASSWORD={} -p 3306:3306 mysql
docker login -u ada -p {} registry.example.com
docker login --username ada --password {}
docker build --build-arg NPM_TOKEN={} .
echo {} | docker login -u ada --password-stdin
echo {} | sudo -S apt update
echo "{}" | sudo -S -u root id
echo -n {} | sudo --stdin ls
printf '%s' {} | sudo -S ls
yes {} | passwd ada
echo ada:{} | sudo chpasswd
echo {} | gh auth login --with-token
gh auth login --with-token <<< {}
sudo -S ls <<< {}
gh secret set DEPLOY -b {}
gh secret set DEPLOY --body {}
echo {} | gh secret set DEPLOY
curl -u ada:{} https://api.example.com
curl https://api.example.com \\n  -X POST \\n  -u ada:{} \\n  -d a=b
curl -uada:{} https://api.example.com
curl -su ada:{} https://api.example.com
curl --user ada:{} https://api.example.com
curl --proxy-user ada:{} -x proxy:80 https://api.example.com
curl -H "Authorization: Bearer {}" https://api.example.com
curl -H 'Authorization: token {}' https://api.example.com
curl -H "Authorization: {}" https://api.example.com
curl -H "authorization: basic {}" -X POST https://api.example.com
curl -H "X-Api-Key: {}" https://api.example.com
curl -H "X-Auth-Token:{}" https://api.example.com
curl -H "PRIVATE-TOKEN: {}" https://gitlab.example.com
curl --header "X-Vault-Token: {}" https://vault.example.com
curl -H "Cookie: session={}; theme=dark" https://example.com
curl -b "session={}" https://example.com
curl -d 'user=ada&password={}' https://example.com/login
curl -d 'password={}&user=ada' https://example.com/login
curl -d '{"user": "ada", "password": "{}"}' https://example.com/login
curl -d "{\"token\":\"{}\",\"a\":1}" https://example.com/login
curl https://example.com/?access_token={}&page=2
curl 'https://example.com/?page=2&api_key={}'
curl "https://maps.example.com/?x=1&sig={}"
curl https://ada:{}@example.com/x
git clone https://ada:{}@github.com/ada/x.git
git clone https://oauth2:{}@gitlab.com/ada/x.git
git remote set-url origin https://ada:{}@example.com/x.git
psql postgres://ada:{}@db.example.com:5432/shop
psql "host=db user=ada password={} dbname=shop"
psql -c "ALTER USER ada WITH PASSWORD = '{}'"
mysql -e "CREATE USER ada IDENTIFIED BY '{}'"
redis-cli -h cache -a {} ping
redis-cli -u redis://:{}@cache:6379
mongosh -u ada -p {} --authenticationDatabase admin
mongosh "mongodb+srv://ada:{}@cluster.example.com/shop"
ldapsearch -x -D cn=admin -w {} -b dc=example
http -a ada:{} example.com
http example.com X-Api-Key:{}
xh -a ada:{} example.com
wget --user=ada --password={} https://example.com
wget --http-password {} https://example.com
svn co --username ada --password {} https://svn.example.com
smbclient //nas/share -U ada%{}
lftp -u ada,{} ftp.example.com
sqlplus ada/{}@db
sqlcmd -S db -U sa -P {} -Q "select 1"
zip -P {} -r a.zip a
unzip -P {} a.zip
7z x -p{} a.7z
openssl enc -aes-256-cbc -k {} -in a -out b
openssl rsa -in key.pem -passin pass:{}
gpg --batch --passphrase {} -c a
keytool -list -keystore a.jks -storepass {}
htpasswd -b .htpasswd ada {}
htpasswd -nb ada {}
aws configure set aws_secret_access_key {}
aws secretsmanager put-secret-value --secret-id x --secret-string {}
aws ssm put-parameter --name x --type SecureString --value {}
npm config set //registry.npmjs.org/:_authToken {}
npm config set //registry.npmjs.org/:_authToken={}
npm publish --otp={}
git config --global github.token {}
cargo login {}
twine upload -u __token__ -p {} dist/*
vault login {}
vault kv put secret/shop anything={}
vault status || export VAULT_TOKEN={}
kubectl create secret generic shop --from-literal=anything={}
kubectl create secret docker-registry r --docker-password={}
kubectl --token={} get pods
kubectl config set-credentials ada --token {}
helm install x ./x --set db.password={}
helm upgrade x ./x --set auth.rootPassword={},replicas=2
terraform apply -var db_password={}
terraform apply -var 'db_password={}'
ansible-playbook site.yml -e "ansible_password={}"
heroku config:set ANYTHING={}
fly secrets set ANYTHING={}
az login --service-principal -u x -p {} --tenant t
ngrok config add-authtoken {}
wandb login {}
tailscale up --authkey {}
tailscale up --auth-key={}
stripe listen --api-key {}
huggingface-cli login --token {}
wpa_passphrase home {}
nmcli dev wifi connect home password {}
rabbitmqctl add_user ada {}
mc alias set play https://play.example.com ada {}
sudo mount -t cifs //nas/x /mnt -o username=ada,password={}
rclone obscure {}
atuin login -u ada -p {}
bw unlock {}
ssh host "mysql -u root --password={} shop"
ssh host 'PGPASSWORD={} psql'
bash -c "export TOKEN={}; ./run"
cat > .env <<EOF\nTOKEN={}\nEOF
cat > x.yml <<EOF\npassword: {}\nEOF
sudo -S ls <<EOF\n{}\nEOF
net user ada {}
xfreerdp /u:ada /p:{} /v:host
cmdkey /user:ada /pass:{}
ls && export TOKEN={} && ls
(export TOKEN={}; ls)
http POST example.com password={}
ssh ada@host "echo {} | sudo -S ls"
ssh ada@host 'mysql -p{} shop'
bash -c "mysql -uroot -p{}"
su -c "redis-cli -a {} info" ada
alias db='mysql -p{}'
x=$(curl -u ada:{} example.com)
echo $(mysql -p{} -e x) > a
echo `mysql -p{} -e x`
ssh host "bash -c 'mysql -p{}'"
ssh host <<EOF\nmysql -p{}\nEOF
for i in 1 2; do mysql -p{}; done
if mysql -p{}; then ls; fi
# mysql -p{} shop
#export API_TOKEN={}
echo {} | su -c ls
echo {} | base64 | docker login --password-stdin
cat <<< {} | docker login --password-stdin
(echo {}; echo {}) | passwd ada
git -c http.extraHeader="Authorization: Bearer {}" fetch
git push https://x-access-token:{}@github.com/ada/x.git
curl -H Authorization:\ Bearer\ {} example.com
curl -H "authorization:Bearer {}" example.com
curl -F password={} example.com
redis-cli CONFIG SET requirepass {}
redis-cli AUTH {}
consul kv put shop/password {}
etcdctl put /shop/password {}
cat > ~/.netrc <<EOF\nmachine example.com login ada password {}\nEOF
cat > a.json <<EOF\n{"client_secret": "{}", "a": 1}\nEOF
node -e 'login({apiKey: "{}"})'
python -c "login(password='{}')"
run --pwd {}
run --bearer {}
run --bearer-token={}
http -A bearer -a {} example.com
ConvertTo-SecureString "{}" -AsPlainText -Force
Connect-Shop -Password {}
az storage blob list --account-key {}
https://zoom.us/j/123?pwd={}
TF_VAR_db_password={} terraform apply
helm install x --set a=1,adminPassword={},b=2
net use Z: //nas/x {} /user:ada
""".strip().splitlines()

QUOTED_PLACES = """
export PASSWORD='{}'
PGPASSWORD='{}' psql
PGPASSWORD="{}" psql
mysql -u root --password='{}' shop
mysql -u root -p'{}' shop
mysql -u root --password "{}" shop
sshpass -p '{}' ssh host
curl -u 'ada:{}' https://example.com
curl -u ada:'{}' https://example.com
curl -H 'X-Api-Key: {}' https://example.com
echo '{}' | sudo -S ls
sudo -S ls <<< '{}'
docker login -u ada -p "{}"
gpg --passphrase '{}' -c a
""".strip().splitlines()

KEYS = {
    "AKIA{}": (string.ascii_uppercase + string.digits, 16),
    "ghp_{}": (ALPHANUMERIC, 36),
    "gho_{}": (ALPHANUMERIC, 36),
    "github_pat_{}": (ALPHANUMERIC + "_", 60),
    "glpat-{}": (ALPHANUMERIC + "_-", 20),
    "xoxb-{}": (string.digits + "-" + string.ascii_letters, 40),
    "sk-{}": (ALPHANUMERIC, 20),
    "sk-proj-{}": (ALPHANUMERIC + "_-", 40),
    "sk_live_{}": (ALPHANUMERIC, 24),
    "AIza{}": (ALPHANUMERIC + "_-", 35),
    "npm_{}": (ALPHANUMERIC, 36),
    "hf_{}": (string.ascii_letters, 34),
    "eyJ{}.eyJzdWIiOiIx.c2lnbmF0dXJl": (ALPHANUMERIC + "_-", 30),
    "hvs.{}": (ALPHANUMERIC, 24),
}
KEY_PLACES = [
    "{}",
    "echo {}",
    "deploy {} now",
    "x='{}'",
    "https://example.com/{}/x",
    "cmd --flag={}",
    "a,{},b",
    "f({})",
]


def planted(template: str, secret: str) -> str:
    return template.replace("\\n", "\n").replace("{}", secret)


def check_gone(template: str, secret: str) -> None:
    result = redact(planted(template, secret))
    assert secret in template or secret not in result.replace(PLACEHOLDER, ""), result
    assert PLACEHOLDER in result
    assert redact(result) == result


@pytest.mark.parametrize("template", WORD_PLACES)
def test_a_secret_in_this_place_never_survives(template: str) -> None:
    check_gone(template, "hunter22")
    check_gone(template, "correcthorse")


@settings(deadline=None, max_examples=1000)
@given(template=st.sampled_from(WORD_PLACES), secret=WORD_SECRETS)
def test_no_secret_survives_in_any_place(template: str, secret: str) -> None:
    check_gone(template, secret)


@settings(deadline=None, max_examples=300)
@given(template=st.sampled_from(QUOTED_PLACES), secret=QUOTED_SECRETS)
@example(template=QUOTED_PLACES[0], secret="correct horse; battery & staple")
def test_a_passphrase_in_quotes_never_survives(template: str, secret: str) -> None:
    result = redact(template.replace("{}", secret))
    rest = result.replace(PLACEHOLDER, "")
    assert secret not in rest
    assert not any(part in rest for part in secret.split() if len(part) > 5 and part not in template)
    assert redact(result) == result


@settings(deadline=None, max_examples=300)
@given(form=st.sampled_from(sorted(KEYS)), data=st.data(), place=st.sampled_from(KEY_PLACES))
def test_a_key_of_a_known_service_never_survives_anywhere(form: str, data: st.DataObject, place: str) -> None:
    alphabet, size = KEYS[form]
    edge = st.sampled_from(sorted(set(alphabet) & set(ALPHANUMERIC)))
    body = data.draw(edge) + data.draw(st.text(alphabet, min_size=size - 2, max_size=size)) + data.draw(edge)
    key = form.format(body)
    result = redact(place.format(key))
    assert result == place.format(PLACEHOLDER)


@settings(deadline=None)
@given(secret=SHELL_SAFE_SECRETS)
def test_a_password_with_signs_in_it_never_survives_in_an_assignment(secret: str) -> None:
    assert redact(f"DB_PASSWORD={secret} ./run --fast") == f"DB_PASSWORD={PLACEHOLDER} ./run --fast"


@settings(deadline=None)
@given(
    secret=st.text(ALPHANUMERIC + "@!$&*()+,;=.~-", min_size=6, max_size=30).filter(
        lambda s: s[0] in ALPHANUMERIC
    )
)
def test_a_password_in_a_url_never_survives_even_with_an_at_sign(secret: str) -> None:
    result = redact(f"psql postgres://ada:{secret}@db.example.com/shop")
    assert result == f"psql postgres://ada:{PLACEHOLDER}@db.example.com/shop"


def test_a_private_key_is_one_secret() -> None:
    block = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nxyz\n-----END OPENSSH PRIVATE KEY-----"
    assert redact(f"cat > key <<EOF\n{block}\nEOF") == f"cat > key <<EOF\n{PLACEHOLDER}\nEOF"
    cut = block[:50]
    assert redact(f"echo '{cut}") == f"echo '{PLACEHOLDER}"


ORDINARY = r"""
ls
ls -la
cd /srv/tiles
cd ..
pwd
git status
git diff --stat
git add -p
git commit -m "fix: keep the token of the parser"
git commit -m "auth: log in by mail"
git commit -am 'Password reset: new mail'
git commit --author="Ada <ada@example.com>" -m x
git push origin main
git push -u origin feature/auth
git pull --rebase
git log --oneline --author=ada
git checkout -b fix/token-refresh
git rebase -i HEAD~3
git stash pop
git clone git@github.com:ada/tiles.git
git clone https://github.com/ada/tiles.git
git clone https://ada@bitbucket.org/ada/tiles.git
git remote add origin ssh://git@example.com:2222/ada/tiles.git
git show 3f786850e387550fdab836ed7e6dc881de23001b
git cherry-pick 89e6c98d92887913cadf06b2adb97f26cde4849b
git config --global user.email ada@example.com
git config user.name Ada
git config --global credential.helper store
git bisect start
git blame -L 10,20 auth.py
make
make -j8 test
make install PREFIX=/usr/local
cmake -S . -B build
ninja -C build
npm run build
npm install --save-dev @types/node
npm test -- --watch
npm login
npm config get registry
npx create-react-app shop
yarn add lodash
pnpm install
node server.js
cargo test --release
cargo build
go test ./...
go mod tidy
python -m pytest -k token
python manage.py migrate
python3 -m venv .venv
pip install -r requirements.txt
pip install keyring
pip install 'package @ git+https://github.com/ada/package@main'
uv pip install ruff
poetry add requests
pytest tests/test_auth.py -x
source .venv/bin/activate
docker compose up -d
docker compose -p shop logs -f web
docker ps -a
docker run --rm -it -p 8080:80 nginx
docker run -u 1000:1000 -v /secrets:/run/secrets:ro app
docker run --user 1000:1000 app
docker run --env-file .env app
docker build --secret id=npm,src=.npmrc .
docker login registry.example.com
docker login -u ada --password-stdin
docker exec -it db psql -U postgres
docker pull vault:1.13
docker secret ls
kubectl get pods -n prod
kubectl get secrets
kubectl get secret shop -o yaml
kubectl describe secret shop
kubectl create secret generic shop --from-file=./password.txt
kubectl logs -f deploy/auth
kubectl apply -f secret.yaml
kubectl rollout restart deployment/auth
kubectl port-forward svc/db 5432:5432
helm upgrade --install shop ./chart
terraform plan
terraform apply -auto-approve
terraform apply -var-file=prod.tfvars
aws s3 cp a.txt s3://bucket/a.txt
aws sts get-caller-identity
aws ssm get-parameter --name /shop/db-password --with-decryption
aws secretsmanager get-secret-value --secret-id shop
aws configure
aws iam list-access-keys
gcloud auth login
gcloud auth print-access-token
az login
gh auth status
gh pr create --fill
gh secret list
gh secret set DEPLOY
heroku config
vault kv get secret/shop
vault login -method=oidc
ssh ada@example.com
ssh -i ~/.ssh/id_ed25519 -p 2222 ada@example.com
ssh -L 8080:localhost:80 host
ssh-keygen -t ed25519 -C ada@example.com
ssh-add ~/.ssh/id_ed25519
ssh-copy-id ada@host
scp -P 22 a.txt host:/tmp/
rsync -avz --delete ./ host:/srv/
curl https://example.com
curl -sSL https://example.com/install.sh | bash
curl -X POST -d 'name=ada&page=2' https://example.com
curl -H "Content-Type: application/json" -d '{"name": "ada"}' https://example.com
curl -H "Accept: text/html" https://example.com
curl -o out.html https://example.com/a@b
curl -H "Authorization: Bearer $TOKEN" https://example.com
curl -H "Authorization: Bearer $(gcloud auth print-access-token)" https://example.com
curl -u "$USER:$PASSWORD" https://example.com
curl --key client.key --cert client.pem https://example.com
wget -qO- https://example.com
wget --auth-no-challenge https://example.com
http GET example.com
mysql -u root -p
mysql -u root --password
mysql -h db shop < dump.sql
mysqldump shop > shop.sql
psql -U postgres -h localhost shop
psql -c 'select token_type, count(*) from logins group by 1'
psql --no-password shop
psql postgres://localhost/shop
pg_dump -Fc shop > shop.dump
redis-cli ping
redis-cli -h cache -p 6379
mongosh shop
sqlite3 app.db .tables
sudo apt update
sudo apt-get install -y passwd
sudo systemctl restart nginx
sudo -u postgres psql
sudo -i
sudo !!
sudo passwd ada
sudo apt-key list
sudo apt-key adv --keyserver keyserver.ubuntu.com --recv-keys 0EBFCD88
passwd
pass show mail/ada
pass insert mail/ada
PASSWORD=$(pass show db) ./run
export TOKEN="$(cat token.txt)"
export TOKEN=$GITHUB_TOKEN
export PATH=$PATH:/opt/bin
export EDITOR=vim
export PWD
PWD=/tmp ls
export GIT_ASKPASS=/usr/bin/true
export TOKENIZERS_PARALLELISM=false
echo $PASSWORD
echo "$TOKEN" | docker login --password-stdin
echo hello | sudo tee /etc/motd
echo "deb http://x y main" | sudo tee /etc/apt/sources.list.d/x.list
grep -rn password src/
grep -i 'secret' config.yml
rg "api_key" --type py
ag token
find . -name '*.key'
find . -name '*.pem' -delete
sed -i 's/password/passphrase/' README.md
awk -F: '{print $1}' /etc/passwd
cat /etc/passwd
cat ~/.ssh/id_rsa.pub
less auth.log
tail -f /var/log/auth.log
vim secrets.yml
vim src/token.rs
code keyboard.json
nano credentials.md
mkdir -p src/auth
mkdir -p secrets/keys
cp token.txt /tmp
mv passwords.csv old/
rm -rf node_modules
touch keys.json
chmod 600 ~/.ssh/id_ed25519
chown ada:ada .env
tar -xzf keys.tar.gz
zip -r a.zip a
unzip a.zip -d a
7z x a.7z
sort -k 2 -t : a.txt
sort --key=2 a.txt
sort --field-separator=, --key 3 a.csv
join -t, a b
ps aux | grep sshd
kill -9 1234
htop
df -h
du -sh *
free -m
crontab -e
tmux attach -t auth
man passwd
which pass
openssl x509 -in cert.pem -noout -text
openssl req -new -key server.key -out server.csr
openssl genrsa -out private.key 4096
openssl s_client -connect example.com:443
gpg --list-keys
gpg --recv-keys 0x12345678
gpg --verify a.sig a
certbot renew
ansible-playbook site.yml --ask-vault-pass
ansible-vault edit secrets.yml
ansible-playbook -i hosts site.yml --private-key ~/.ssh/id_rsa
ollama run llama3
llm -m gpt --max-tokens 500 "explain tokens"
python train.py --max_tokens=512 --num-tokens 10
jq '.token' a.json
jq -r '.[] | .key' a.json
foreach ($f in 1..3) { $f }
nmap -p 22,80 host
ffmpeg -i a.mp4 -b:v 1M b.mp4
hugo server -D
brew install pass
systemctl --user status ssh-agent
xclip -selection clipboard < key.txt
history | grep pass
for f in *.key; do echo "$f"; done
make token-test
basic training session
Bearer of good news
Lunch: key people
Meeting about the token: agenda
https://example.com/reset-password
https://example.com/@ada/post
mailto:ada@example.com
See https://example.com:8443/@ada for details
""".strip().splitlines()


@pytest.mark.parametrize("command", ORDINARY)
def test_an_ordinary_text_comes_back_unchanged(command: str) -> None:
    assert redact(command) == command


def test_there_are_two_hundred_ordinary_commands() -> None:
    assert len(set(ORDINARY)) >= 200


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mysql -u root -phunter2 shop", "mysql -u root -p‹secret› shop"),
        ("docker run -e TOKEN=abc123 -p 80:80 app", "docker run -e TOKEN=‹secret› -p 80:80 app"),
        (
            'curl -H "Authorization: Bearer abc.def.ghi" https://api.example.com',
            'curl -H "Authorization: Bearer ‹secret›" https://api.example.com',
        ),
        ("curl -d 'user=ada&password=x1&page=2' e.com", "curl -d 'user=ada&password=‹secret›&page=2' e.com"),
        ("export API_KEY=sk-inventedinvented123", "export API_KEY=‹secret›"),
        ("echo hunter2 | sudo -S apt update", "echo ‹secret› | sudo -S apt update"),
        (
            "helm upgrade x --set a.password=x1,replicas=2",
            "helm upgrade x --set a.password=‹secret›,replicas=2",
        ),
        ("redis-cli -u redis://:p@ss@cache:6379", "redis-cli -u redis://:‹secret›@cache:6379"),
    ],
)
def test_the_rest_of_the_line_stays_readable(text: str, wanted: str) -> None:
    assert redact(text) == wanted


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=200) | st.text("ab=-p: '\"\\|$(){}<>&;\n‹secret›token@/", max_size=80))
def test_any_text_is_redacted_once_and_for_all(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize("text", [*(planted(place, "hunter22") for place in WORD_PLACES), *ORDINARY])
def test_the_first_looks_pass_over_nothing(text: str) -> None:
    """A text that is long enough to go through every pass comes out the same."""
    padding = " " * 3_000
    assert redact(text + padding) == redact(text) + padding


@settings(deadline=None, max_examples=50)
@given(st.lists(st.none() | st.sampled_from(ORDINARY) | st.sampled_from(WORD_PLACES), max_size=20))
def test_a_column_is_redacted_like_its_texts(texts: list[str | None]) -> None:
    column = pl.Series("command", texts, dtype=pl.String)
    assert redact_series(column).to_list() == [None if t is None else redact(t) for t in texts]


HOSTILE = (
    *(
        "pass",
        "password=",
        "a,token=",
        "token: ",
        "--token ",
        "'",
        '"',
        "\\",
        "\\'",
        "$(",
        "$(a ",
        "`a ",
        "(",
        "x://a:",
        "x://a:b@",
    ),
    *(
        "@",
        "-p",
        "mysql ",
        "sudo ",
        "git ",
        "<<<",
        "<<E\n",
        "echo a | sudo -S ",
        "ssh 'mysql -p ",
        "a.b-",
        "eyJ",
        "-----BEGIN ",
    ),
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_hostile_text_is_no_trap(piece: str) -> None:
    assert isinstance(redact(f"curl -u mysql {piece * 10_000}"), str)
