"""DiffSoc-S, from its equations, with arrays: the first axis is the class, the second the neighbourhood."""
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.nn import sigmoid

from model import Model

DEFAULTS = {"p_" + name: value for name, value in dict(
    emp_base=0.5, emp_skl=0.3, emp_dem=0.002, emp_cmt=0.1, emp_tran=0.05, emp_net=0.01, emp_disc=0.3, wge_adj=0.02,
    wge_inf=0.3, wge_prod=0.002, sec_grow=0.01, skl_prm=0.1, inc_xfer=5.0, inc_tax=0.2, inc_adj=0.1, pol_mw=1.0,
    crd_inc=2.0, crd_wth=1.0, crd_crm=0.5, crd_bias=1.0, crd_adj=0.1, crd_rsk=0.05, crd_def=0.1, own_wth=0.005,
    own_dwn=0.2, own_mort=0.005, pol_sub=0.1, cns_lo=0.7, cns_mi=0.5, cns_hi=0.3, cns_base=3.0, wth_ret=0.01,
    ptax=0.005, prf_sch=0.3, prf_amn=0.2, prf_crm=0.4, prf_prc=0.5, hsg_spec=0.01, hsg_sel=0.3, hsg_padj=0.01,
    hsg_mom=0.02, hsg_mrev=0.05, hsg_dep=0.01, hsg_radj=0.05, hsg_ryld=0.05, pol_zone=1.0, pol_rent=0.0,
    sch_tax=0.002, sch_base=0.2, pol_sch=0.002, sch_fund=0.01, sch_peer=0.02, sch_dec=0.05, sch_spill=0.05,
    skl_sch=0.01, skl_peer=0.005, skl_inc=0.01, skl_base=0.01, skl_dec=0.1, att_sch=0.3, att_amn=0.2, att_crm=0.4,
    att_prc=0.5, att_job=0.3, mig_att=0.0, mig_lo=0.02, mig_mi=0.01, mig_hi=0.005, nbr_ainc=0.1, nbr_ainv=0.05,
    nbr_adec=0.05, nbr_acrm=0.05, nbr_spamn=0.05, nbr_cbase=0.02, nbr_cinc=0.05, nbr_cpol=0.05, nbr_cdec=0.1,
    nbr_spcrm=0.05, soc_seg=0.05, mac_gdp=0.005, mac_lab=0.1, mac_inf=0.3, mac_ihsg=0.1, mac_idem=0.05, mac_ineq=1.0,
    mac_pop=0.01, pol_cred=0.5).items()}

START = dict(
    P=np.array([[200, 180, 160, 120, 100], [100, 120, 130, 150, 140], [30, 40, 50, 70, 80]], float),
    Y=np.outer([25.0, 55, 120], np.ones(5)), W=np.outer([10.0, 80, 350], np.ones(5)),
    K=np.outer([2.0, 5, 8], np.ones(5)),
    p=np.array([350.0, 280, 260, 200, 180]), r=np.array([18.0, 14, 13, 10, 9]), s=np.array([6, 5.5, 5, 4, 3.5]),
    a=np.array([7, 6, 5.5, 4, 3.5]), x=np.array([3, 2.5, 2, 1.5, 1]),
    D=np.array([500.0, 300, 150]), w=np.array([30.0, 55, 115]), C=1000.0, i=0.05, G=5000.0, f=0.02, q=3.0)
CAPACITY, DISTANCE = np.array([500.0, 600, 550, 700, 650]), np.array([1.0, 3, 4, 7, 8])
TRANSIT = np.array([5, 3, 3, 1.5, 1])
ADJACENT = np.array([[0, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 1, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 1, 1, 0]], float)
AROUND = ADJACENT / ADJACENT.sum(1, keepdims=True)
LO, HI = np.array([[1.0], [0], [0]]), np.array([[0.0], [0], [1]])


def year(q, v, z):
    q = {name[2:]: value for name, value in q.items()}
    column = lambda *names: jnp.stack([q[n] for n in names])[:, None]
    P, Y, W, K, p, r, s, a, x, D, w, G, f = (z[n] for n in "PYWKprsaxDwGf")
    n, N, p_mean = P.sum(0), P.sum(1), p.mean()
    y_here, y_class = (P * Y).sum(0) / (n + 0.1), (P * Y).sum(1) / (N + 0.1)
    # 1. labour, 2. income
    e = sigmoid(q["emp_base"] + q["emp_skl"] * K + q["emp_dem"] * D[:, None] - q["emp_cmt"] * DISTANCE
                + q["emp_tran"] * TRANSIT + q["emp_net"] * P / (n + 0.1) - LO * q["emp_disc"])
    E = (P * e).sum(1)
    dw = q["wge_adj"] * (0.1 * (D - E) + q["wge_inf"] * f + q["wge_prod"] * w)
    dD = q["sec_grow"] * (np.array([1, 1.5, 2]) * v["growth"]
                          - np.array([0.01, 0.01, 0.005]) * (w - np.array([30.0, 55, 115])))
    I = e * w[:, None] * (1 + q["skl_prm"] * K) * (1 + LO * 0.1 * q["pol_mw"]) + LO * q["inc_xfer"]
    # 3. credit, 4. housing cost, 5. wealth
    c = sigmoid((q["crd_inc"] * I + q["crd_wth"] * W) / (p + 1) - q["crd_crm"] * x - LO * q["crd_bias"])
    o = sigmoid(q["own_wth"] * (W - q["own_dwn"] * p))
    h = o * q["own_mort"] * p + (1 - o) * r * (1 - LO * q["pol_sub"])
    dW = (I * (1 - q["inc_tax"] - column("cns_lo", "cns_mi", "cns_hi")) - q["cns_base"] - h + q["wth_ret"] * W
          - q["ptax"] * p * o)
    # 6. housing market
    dem = (P * c * sigmoid(q["prf_sch"] * s + q["prf_amn"] * a - q["prf_crm"] * x - q["prf_prc"] * p / (I + 1)
                           + HI * 0.001 * q["hsg_spec"] * W)).sum(0)
    sup = CAPACITY * (1 + q["hsg_sel"] * p / p_mean) + q["pol_zone"] * v["housing_supply"]
    dp = q["hsg_padj"] * (p * (dem / (sup + 0.1) - 1) + q["hsg_mom"] * (p - p_mean) + q["hsg_mrev"] * (p_mean - p)
                          - q["hsg_dep"] * p)
    dr = q["hsg_radj"] * (q["hsg_ryld"] * p - r - q["pol_rent"] * r)
    # 7. schools and skill
    fund = q["sch_tax"] * y_here + q["sch_base"] + q["pol_sch"] * (p_mean - y_here)
    peer = (P * K).sum(0) / (n + 0.1)
    ds = q["sch_fund"] * fund + q["sch_peer"] * peer - q["sch_dec"] * s + q["sch_spill"] * (AROUND @ s - s)
    dK = (q["skl_sch"] * s + q["skl_peer"] * peer + q["skl_inc"] * jnp.log(I + 1) + q["skl_base"]
          - q["skl_dec"] * K)
    # 8. migration
    A = (q["att_sch"] * s + q["att_amn"] * a - q["att_crm"] * x - q["att_prc"] * p / (y_class[:, None] + 1)
         + q["att_job"] * TRANSIT / (DISTANCE + 1) + q["mig_att"])
    A_mean = ((P * A).sum(1) / (N + 0.01))[:, None]
    dP = column("mig_lo", "mig_mi", "mig_hi") * P * (A / (A_mean + 0.01) - 1) + q["mac_pop"] * P * v["immigration"]
    # 9. neighbourhoods
    da = (0.001 * q["nbr_ainc"] * y_here + q["nbr_ainv"] * v["investment"] - q["nbr_adec"] * a - q["nbr_acrm"] * x
          + q["nbr_spamn"] * (AROUND @ a - a))
    seg = (2 * y_here - y_class[0] - y_class[2]) / (y_here + 1)
    dx = (q["nbr_cbase"] - 0.001 * q["nbr_cinc"] * y_here - q["nbr_cpol"] * v["investment"] + q["soc_seg"] * seg
          - q["nbr_cdec"] * x + q["nbr_spcrm"] * (AROUND @ x - x))
    # 10. the city
    total = (P * I).sum()
    G_next = G * (1 + q["mac_gdp"]) + 0.01 * q["mac_lab"] * total + 0.01 * v["growth"] * G
    f_next = (f + q["mac_inf"] * (0.02 - f) + q["mac_ihsg"] * dp.sum() / (p_mean + 1)
              + q["mac_idem"] * (total / (G + 1) - 1))
    credit = z["C"] + q["crd_adj"] * (G_next - G) + 0.01 * q["pol_cred"] * z["C"] - q["crd_rsk"] * z["i"] * z["C"]
    interest = v["policy_rate"] + q["crd_def"] * ((1 - e[0]) * P[0]).sum() / (N[0] + 0.1)
    return dict(P=P + dP, Y=(1 - q["inc_adj"]) * Y + q["inc_adj"] * I, W=W + dW, K=K + dK, p=p + dp, r=r + dr, s=s + ds,
                a=a + da, x=x + dx, D=D + dD, w=w + dw, C=credit, i=interest, G=G_next, f=f_next,
                q=q["mac_ineq"] * (y_class[2] + 1) / (y_class[0] + 1))


def diffsoc(p, v):
    start = {name: jnp.asarray(x) for name, x in START.items()}
    z, _ = lax.scan(lambda z, _: (year(p, v, z), None), start, length=v["steps"])
    return 0.1 * z["p"].mean() + 0.5 * z["s"].mean() + z["Y"][0].mean() + 0.001 * z["G"]


MODELS = [Model("society/diffsoc-s", diffsoc, DEFAULTS,
                {"steps": [1, 10, 30, 60], "growth": (0.0, 0.05), "policy_rate": (0.02, 0.08), "investment": (0.5, 1.5),
                 "housing_supply": (0.5, 1.5), "immigration": (0.0, 0.02)}, spread=0.01, hessian=False, points=8)]
